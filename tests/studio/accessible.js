// What people may not be able to read on this page: faint words and borders, and
// headings that leave a level out. Evaluated in the page; gives a list of complaints.
() => {
  const parse = (text) => {
    const [r, g, b, a = 1] = (text.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
    return { rgb: [r, g, b], alpha: a };
  };
  const over = (top, alpha, below) => top.map((value, i) => value * alpha + below[i] * (1 - alpha));
  const light = (rgb) => {
    const [r, g, b] = rgb.map((value) => value / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, two) => {
    const [low, high] = [light(one), light(two)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const up = (node) => (node ? [node, ...up(node.parentElement)] : []);
  const ground = (node) => up(node).map((one) => parse(getComputedStyle(one).backgroundColor)).reverse()
    .reduce((below, { rgb, alpha }) => over(rgb, alpha, below), [255, 255, 255]);
  const opacity = (node) => up(node).reduce((all, one) => all * Number(getComputedStyle(one).opacity), 1);
  const isShown = (node) => node.checkVisibility({ visibilityProperty: true }) && !node.closest(":disabled, .offscreen, .skip, option, mark, .mirror");

  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const words = texts.currentNode.textContent.trim();
    const node = texts.currentNode.parentElement;
    if (!words || !isShown(node) || node.closest("script, style, noscript")) continue;
    const style = getComputedStyle(node);
    const { rgb, alpha } = parse(node.closest("svg") ? style.fill : style.color);
    const below = ground(node);
    const seen = contrast(over(rgb, alpha * opacity(node), below), below);
    if (seen < 4.5) found.push(`${seen.toFixed(2)}: ${words.slice(0, 40)}`);
  }
  for (const node of document.querySelectorAll("select, textarea, input[type=text], input[type=number]")) {
    if (!isShown(node)) continue;
    const seen = contrast(parse(getComputedStyle(node).borderTopColor).rgb, ground(node.parentElement));
    if (seen < 3) found.push(`border ${seen.toFixed(2)}: ${node.getAttribute("aria-label") ?? node.id}`);
  }
  const levels = [...document.querySelectorAll("h1, h2, h3, h4")].filter(isShown).map((node) => Number(node.tagName[1]));
  levels.forEach((level, i) => {
    if (level > (levels[i - 1] ?? 0) + 1) found.push(`heading ${level} after ${levels[i - 1] ?? "nothing"}`);
  });
  return found;
}
