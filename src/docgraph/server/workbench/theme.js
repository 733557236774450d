// Runs before the page is drawn, so that a chosen theme never flashes. "auto" follows the system.
(() => {
  try {
    document.documentElement.dataset.theme = localStorage.getItem("docgraph.theme") || "auto";
  } catch {
    document.documentElement.dataset.theme = "auto"; // storage is switched off
  }
})();
