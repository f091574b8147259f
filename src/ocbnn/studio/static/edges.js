/** Boxes on a plot can also be grabbed a few pixels outside their edges. */

const NEAR = { mouse: 7, touch: 16 };

function distance(box, { x, y }) {
  return Math.max(box.left - x, x - box.right, box.top - y, y - box.bottom);
}

/** The box within `most` pixels of a point, and the nearest point inside it. */
function boxNear(graph, point, most) {
  for (const path of graph.querySelectorAll(".shapelayer path[data-index]")) {
    const box = path.getBoundingClientRect();
    const far = distance(box, point);
    if (far <= 0) return null;
    if (far > most) continue;
    const into = (value, low, high) => Math.min(Math.max(value, low + 1), high - 1);
    return { path, x: into(point.x, box.left, box.right), y: into(point.y, box.top, box.bottom) };
  }
  return null;
}

function touchStart(path, { identifier }, { x, y }) {
  const touch = new Touch({ identifier, target: path, clientX: x, clientY: y });
  return new TouchEvent("touchstart", { bubbles: true, cancelable: true, touches: [touch], changedTouches: [touch] });
}

/** @param {() => boolean} isOn whether boxes can be moved now */
export function catchEdges(graph, isOn) {
  const redirect = (event, box, replacement) => {
    event.stopPropagation();
    event.preventDefault();
    box.path.dispatchEvent(replacement);
  };
  const near = ({ clientX: x, clientY: y }, most) => (isOn() ? boxNear(graph, { x, y }, most) : null);
  graph.addEventListener("mousedown", (event) => {
    const box = event.isTrusted && event.button === 0 && near(event, NEAR.mouse);
    if (!box) return;
    const { x: clientX, y: clientY } = box;
    redirect(event, box, new MouseEvent("mousedown", { bubbles: true, cancelable: true, clientX, clientY, button: 0, buttons: 1, view: window }));
  }, true);
  graph.addEventListener("touchstart", (event) => {
    const box = event.isTrusted && event.touches.length === 1 && near(event.touches[0], NEAR.touch);
    if (box) redirect(event, box, touchStart(box.path, event.touches[0], box));
  }, { capture: true, passive: false });
  graph.addEventListener("mousemove", (event) => graph.classList.toggle("near", Boolean(event.buttons === 0 && near(event, NEAR.mouse))));
}
