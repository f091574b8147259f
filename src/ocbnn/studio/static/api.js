/** Requests to the server. */

export class ApiError extends Error {
  constructor(message, status, body) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

async function answer(response) {
  const text = await response.text();
  let body = {};
  try {
    body = text ? JSON.parse(text) : {};
  } catch {
    // An answer that is not JSON has no message for people.
  }
  if (response.ok) return body;
  if (response.status === 503) throw new ApiError(body.error || BUSY, 503, body);
  throw new ApiError(body.error || `The server answered ${response.status}.`, response.status, body);
}

const BUSY = "The studio is busy. Try again in a moment.";

export const GONE = "The studio no longer answers. Start `ocbnn studio` again and open the address it prints; your saved work is still there.";

async function send(path, options) {
  try {
    return await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(GONE, 0, {});
  }
}

// The server answers only the latest request of each page.
const PAGE = Math.random().toString(36).slice(2);

/** @returns {Promise<any>} the server's answer; rejects with an ApiError if it refuses */
export async function request(method, path, body, signal) {
  const options = { method, signal, headers: {} };
  if (method !== "GET") {
    options.headers = { "Content-Type": "application/json", "X-Ocbnn": "studio", "X-Page": PAGE };
    options.body = JSON.stringify(body ?? {});
    // Saving while a page closes still succeeds; browsers limit the size.
    options.keepalive = method === "PUT" && options.body.length < 50_000;
  }
  return answer(await send(path, options));
}

export async function upload(file) {
  const path = `/api/upload?name=${encodeURIComponent(file.name)}`;
  const headers = { "Content-Type": "application/octet-stream", "X-Ocbnn": "studio" };
  return answer(await send(path, { method: "POST", headers, body: file }));
}

export async function text(path, signal) {
  const response = await send(path, { signal });
  return response.ok ? response.text() : answer(response);
}

/**
 * A series of requests of which only the latest counts: a new request aborts the one
 * before, whose promise then resolves to undefined.
 */
export function latest() {
  let current = null;
  return {
    stop() {
      current?.abort();
      current = null;
    },
    async ask(path, body) {
      this.stop();
      const mine = new AbortController();
      current = mine;
      try {
        const result = await request("POST", path, body, mine.signal);
        return current === mine ? result : undefined;
      } catch (error) {
        if (error.name === "AbortError" || error.status === 409 || current !== mine) return undefined;
        throw error;
      }
    },
  };
}

const AGAIN_MS = 3000;

/**
 * Listens to events while the page is visible: a browser has six connections for all its
 * tabs, and a hidden tab would occupy one. `back` is called once it is visible again.
 *
 * @param {Record<string, (data: any) => void>} handlers by the name of the event
 */
export function listen(path, handlers, { lost, back }) {
  let source = null;
  let timer = 0;
  let isLost = false;
  let hasMissed = false;
  const stop = () => {
    clearTimeout(timer);
    source?.close();
    source = null;
  };
  const connect = () => {
    stop();
    const mine = new EventSource(path);
    source = mine;
    for (const [name, handle] of Object.entries(handlers)) {
      mine.addEventListener(name, (event) => handle(JSON.parse(event.data)));
    }
    mine.addEventListener("error", () => {
      if (!isLost) lost();
      isLost = true;
      // Browsers reconnect by themselves unless they were refused. Then this page tries
      // again: the new address may be open in another tab by now, or fewer pages be open.
      if (mine === source && mine.readyState === EventSource.CLOSED) timer = setTimeout(connect, AGAIN_MS);
    });
    mine.addEventListener("open", () => {
      if (isLost || hasMissed) back();
      isLost = false;
      hasMissed = false;
    });
  };
  const follow = () => {
    if (document.hidden) {
      stop();
      hasMissed = true;
    } else if (source === null) {
      connect();
    }
  };
  follow();
  document.addEventListener("visibilitychange", follow);
  addEventListener("pagehide", stop);
}
