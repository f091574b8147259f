// A classic script in the head, so that the first paint has the right colours already.
(() => {
  const KEY = "ocbnn-theme";
  const system = matchMedia("(prefers-color-scheme: dark)");

  function remembered() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  }

  function apply() {
    const theme = remembered() ?? (system.matches ? "dark" : "light");
    document.documentElement.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (button) {
      button.textContent = theme === "dark" ? "Light" : "Dark";
      button.setAttribute("aria-label", `Change to ${button.textContent.toLowerCase()} colours`);
    }
    document.dispatchEvent(new Event("theme"));
  }

  function toggle() {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem(KEY, next);
    } catch {
      document.documentElement.dataset.theme = next;
    }
    apply();
  }

  apply();
  system.addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", () => {
    apply();
    document.getElementById("theme")?.addEventListener("click", toggle);
  });
})();
