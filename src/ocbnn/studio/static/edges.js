/** Boxes on a plot are caught a few pixels outside of their edges as well. */

const NEAR = { mouse: 7, touch: 16 };

function distance(box, { x, y }) {
  return Math.max(box.left - x, x - box.right, box.top - y, y - box.bottom);
}

/** The box next to which a place lies, and the nearest place inside of it. */
function nextTo(graph, place, most) {
  for (const path of graph.querySelectorAll(".shapelayer path[data-index]")) {
    const box = path.getBoundingClientRect();
    const far = distance(box, place);
    if (far <= 0) return null;
    if (far > most) continue;
    const into = (value, low, high) => Math.min(Math.max(value, low + 1), high - 1);
    return { path, x: into(place.x, box.left, box.right), y: into(place.y, box.top, box.bottom) };
  }
  return null;
}

function touched(path, { identifier }, { x, y }) {
  const touch = new Touch({ identifier, target: path, clientX: x, clientY: y });
  return new TouchEvent("touchstart", { bubbles: true, cancelable: true, touches: [touch], changedTouches: [touch] });
}

/** @param {() => boolean} isOn whether boxes can be moved now */
export function catchEdges(graph, isOn) {
  const handOn = (event, found, made) => {
    event.stopPropagation();
    event.preventDefault();
    found.path.dispatchEvent(made);
  };
  const near = ({ clientX: x, clientY: y }, most) => (isOn() ? nextTo(graph, { x, y }, most) : null);
  graph.addEventListener("mousedown", (event) => {
    const found = event.isTrusted && event.button === 0 && near(event, NEAR.mouse);
    if (!found) return;
    const { x: clientX, y: clientY } = found;
    handOn(event, found, new MouseEvent("mousedown", { bubbles: true, cancelable: true, clientX, clientY, button: 0, buttons: 1, view: window }));
  }, true);
  graph.addEventListener("touchstart", (event) => {
    const found = event.isTrusted && event.touches.length === 1 && near(event.touches[0], NEAR.touch);
    if (found) handOn(event, found, touched(found.path, event.touches[0], found));
  }, { capture: true, passive: false });
  graph.addEventListener("mousemove", (event) => graph.classList.toggle("near", Boolean(event.buttons === 0 && near(event, NEAR.mouse))));
}
