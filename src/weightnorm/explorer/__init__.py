"""One HTML file in which the start of training can be dragged: `wn.explore`.

It computes everything itself: a second implementation, in plain JavaScript modules (`page/`),
without a framework. `describe` reduces a problem to the few numbers that training sees, a
coordinate per singular value, since noise on the labels moves along all of them. `build` inlines
style, modules and problem into `index.html`, because browsers refuse to import modules from a file;
the modules keep to a syntax that plain text can inline, and what breaks it is refused with file and
line (`modules`, over `script_text`, which knows comments and strings from code). `explore` writes
the file and shows it. It needs neither a server nor a network.

          main.js, store.js: one state, drawn anew when gestures.js or fields.js change it
       ┌──────┬──────┴──────┬─────────┬──────────┬───────┐
     plane  phase  curves  ends   fields      tour   python, taking     the views of a scene
       └──────┴──────┬──────┴─────────┴──────────┴───────┘
                  scene.js: a state → runs, flow, predictions, edges     paint.js: canvas or SVG
       ┌──────────┬──┴───────┬─────────┬──────────┐
     methods    flow      predict   stability   drift                    twins of the package
     trace    implicit    limits                problems ← regression ← random
"""

from .explore import explore as explore
