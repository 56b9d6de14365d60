"""One HTML file in which the start of training can be dragged: `wn.explore`.

`describe` reduces a problem to the few numbers that training sees, `build` puts them and the assets
of the folder `page` into one file, and `explore` writes it and shows it. The file needs neither a
server nor a network.
"""

from .explore import explore as explore
