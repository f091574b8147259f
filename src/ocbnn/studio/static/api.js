/** Talks with the server. */

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
    // What is no JSON was not meant for people.
  }
  if (response.ok) return body;
  if (response.status === 503) throw new ApiError(body.error || BUSY, 503, body);
  throw new ApiError(body.error || `The server answered ${response.status}.`, response.status, body);
}

const BUSY = "The studio has more to do than it can. Try again in a moment.";

export const GONE = "The studio does not answer any more. Start `ocbnn studio` again and open the address that it prints; what was saved is there.";

async function send(path, options) {
  try {
    return await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(GONE, 0, {});
  }
}

// The server answers only the latest question of each page.
const PAGE = Math.random().toString(36).slice(2);

/** @returns {Promise<any>} what the server says; an ApiError where it refuses */
export async function request(method, path, body, signal) {
  const options = { method, signal, headers: {} };
  if (method !== "GET") {
    options.headers = { "Content-Type": "application/json", "X-Ocbnn": "studio", "X-Page": PAGE };
    options.body = JSON.stringify(body ?? {});
    // What is saved while a page closes still arrives; browsers allow little of it.
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
 * A line of requests in which only the latest counts: a new one ends the one before, whose
 * promise then resolves to undefined.
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
        const found = await request("POST", path, body, mine.signal);
        return current === mine ? found : undefined;
      } catch (error) {
        if (error.name === "AbortError" || error.status === 409 || current !== mine) return undefined;
        throw error;
      }
    },
  };
}

const AGAIN_MS = 3000;

/**
 * Hears of events while the page is seen: a browser has six connections for all its tabs,
 * and one that is hidden would hold one of them. Once it is seen again, it is `back`.
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
      // Browsers come back by themselves, unless they were refused: then, once the new
      // address was opened in another tab, or there are fewer pages, this one goes on.
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
