// The explorer in a frame has the theme of the page around it, also when that is switched.
(() => {
  const theme = () => (document.documentElement.dataset.theme === "dark" ? "dark" : "light");
  const tell = (frame) => frame.contentWindow?.postMessage({ weightnormTheme: theme() }, "*");
  const frames = () => document.querySelectorAll("iframe.explorer");
  document.addEventListener("DOMContentLoaded", () => {
    for (const frame of frames()) frame.addEventListener("load", () => tell(frame));
    for (const frame of frames()) tell(frame);
  });
  new MutationObserver(() => frames().forEach(tell)).observe(document.documentElement, {
    attributes: true,
    attributeFilter: ["data-theme"],
  });
})();
