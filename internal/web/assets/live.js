// Keeps an open page up to date. Every page is whole without it.
//
// It listens to the server's events while the page is visible. When one concerns
// the page, it reads the same address again and brings the elements that are
// marked with data-live, each with an id, to what they are there. Nodes that did
// not change stay as they are, and so do focus, selection, scrolling and open
// details.
//
// What concerns a page stands in data-topics of its body, separated by spaces: a
// kind of event (component), or one subject of it (component:scanner). A page that
// shows what is counted a while later says in data-gather how many milliseconds.
//
// An element with an id and data-said says in words what it shows. When the words
// change, a live region tells them.

const eventsAddress = "/api/v1/events";
const settleMs = 300; // how long events gather before the page is read again
const gatherMs = Number(document.body.dataset.gather) || settleMs; // the same, on a page that counts later
const retryMs = [2000, 5000, 15000, 30000]; // when a stream ended for good; the last one repeats
const maxTold = 3; // changes that are told in words at once

const topics = new Set((document.body.dataset.topics ?? "").split(" ").filter(Boolean));
const element = (id) => document.getElementById(id);

// Times.

const localTime = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium" });

// localise writes the moments below a node in the reader's zone. Their titles, and
// how long ago they were, stay as the server wrote them.
function localise(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([data-age])")) {
    const moment = new Date(time.dateTime);
    if (!Number.isNaN(moment.getTime())) time.textContent = localTime.format(moment);
  }
  const zone = root.querySelector("#zone");
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone && name) zone.textContent = `Times are in your zone, ${name}; point at one for UTC.`;
}

// Bringing a page to what it is now.

const isElement = (node) => node.nodeType === Node.ELEMENT_NODE;
const keyOf = (node) => (isElement(node) ? node.id : "");

function bring(now, next) {
  if (now.isEqualNode(next)) return;
  if (now.nodeType !== next.nodeType || now.nodeName !== next.nodeName || keyOf(now) !== keyOf(next)) {
    now.replaceWith(next);
    return;
  }
  if (!isElement(now)) {
    if (now.data !== next.data) now.data = next.data;
    return;
  }
  bringAttributes(now, next);
  if (!now.matches("input, select, textarea")) bringChildren(now, next); // what somebody types stays
}

function bringAttributes(now, next) {
  const theirs = (name) => name === "open" && now.localName === "details";
  for (const { name, value } of [...next.attributes]) {
    if (!theirs(name) && now.getAttribute(name) !== value) now.setAttribute(name, value);
  }
  for (const { name } of [...now.attributes]) {
    if (!theirs(name) && !next.hasAttribute(name)) now.removeAttribute(name);
  }
}

function bringChildren(now, next) {
  const known = new Map();
  for (const child of now.children) if (child.id) known.set(child.id, child);
  let here = now.firstChild;
  for (const want of [...next.childNodes]) {
    const key = keyOf(want);
    const same = key ? known.get(key) : undefined;
    if (same) {
      if (same === here) here = here.nextSibling;
      else if (now.moveBefore) now.moveBefore(same, here);
      else now.insertBefore(same, here);
      bring(same, want);
    } else if (here && !key && !keyOf(here) && here.nodeName === want.nodeName) {
      const after = here.nextSibling;
      bring(here, want);
      here = after;
    } else {
      now.insertBefore(want, here);
    }
  }
  while (here) {
    const gone = here;
    here = here.nextSibling;
    gone.remove();
  }
}

// words are what the page says, by the elements that say it.
function words() {
  const said = new Map();
  for (const one of document.querySelectorAll("[data-said][id]")) said.set(one.id, one.dataset.said);
  return said;
}

// parts are the ids of what is live in a document.
const parts = (root) => [...root.querySelectorAll("[data-live][id]")].map((one) => one.id);

// take brings this page to what it is in another document, and tells the changes. A
// document of other parts is another page, such as that of an error.
function take(read) {
  localise(read);
  const before = words();
  const focused = document.activeElement;
  const live = parts(document);
  if (live.join() === parts(read).join()) {
    for (const id of live) bring(element(id), read.getElementById(id));
  } else {
    bring(element("main"), read.getElementById("main"));
  }
  document.title = read.title;
  if (focused && focused !== document.activeElement) {
    const again = focused.isConnected ? focused : (focused.id && element(focused.id)) || element("main");
    again.focus({ preventScroll: true });
  }
  const changes = [];
  for (const [id, now] of words()) {
    if (before.get(id) === now) continue;
    changes.push(now);
    mark(element(id));
  }
  if (changes.length) {
    const more = changes.length - maxTold;
    tell(changes.slice(0, maxTold).join("; ") + (more > 0 ? `; and ${more} more` : ""));
  }
}

function mark(changed) {
  changed.classList.remove("changed");
  void changed.offsetWidth; // or the animation would not begin anew
  changed.classList.add("changed");
}

function tell(text) {
  const said = element("said");
  said.textContent = "";
  setTimeout(() => { said.textContent = text; }, 50); // else the same words again would be no change
}

// Reading the page again: at most one request is under way.

let settling; // the timer while events gather
let reading; // aborts the request that is under way
let again = false; // something happened meanwhile

function concern(wait = settleMs) {
  if (reading) again = true;
  else settling ??= setTimeout(readAgain, wait);
}

async function readAgain() {
  settling = undefined;
  again = false;
  const request = new AbortController();
  reading = request;
  try {
    const answer = await fetch(location.href, { signal: request.signal, cache: "no-store", headers: { Accept: "text/html" } });
    const read = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (request.signal.aborted) return;
    if (answer.status < 500 && read.getElementById("main")) take(read);
    link(answer.status < 500 && stream?.readyState === EventSource.OPEN);
  } catch {
    if (!request.signal.aborted) link(false); // It is read again when the stream is back, or with its next event.
  } finally {
    if (reading === request) reading = undefined;
    if (again && stream) concern(gatherMs);
  }
}

function leaveReading() {
  clearTimeout(settling);
  settling = undefined;
  reading?.abort();
  reading = undefined;
  again = false;
}

// The stream of events.

let stream; // the EventSource while the page is visible
let retrying; // the timer until the next attempt
let attempts = 0;
let lostAt; // since when the page is not live

function open() {
  clearTimeout(retrying);
  if (stream || !topics.size || document.hidden) return;
  stream = new EventSource(eventsAddress);
  stream.addEventListener("open", () => {
    attempts = 0;
    if (lostAt) concern(); // What happened meanwhile was told to nobody.
    else link(true);
  });
  stream.addEventListener("error", () => {
    link(false);
    if (stream?.readyState !== EventSource.CLOSED) return; // It connects again by itself.
    close();
    retrying = setTimeout(open, retryMs[Math.min(attempts++, retryMs.length - 1)]);
  });
  for (const [kind, subject] of [["task", "task_id"], ["component", "component"], ["run", "run"]]) {
    stream.addEventListener(kind, (event) => {
      const told = JSON.parse(event.data);
      if (topics.has(kind) || topics.has(`${kind}:${told[subject]}`)) concern(gatherMs);
    });
  }
  stream.addEventListener("reset", () => concern());
  stream.addEventListener("tick", () => concern()); // Ages grow, and statuses depend on the clock.
}

function close() {
  clearTimeout(retrying);
  stream?.close();
  stream = undefined;
}

function link(live) {
  if (live) lostAt = undefined;
  else lostAt ??= new Date();
  const mark = element("link");
  mark.hidden = live;
  mark.textContent = live ? "" : `Not live since ${localTime.format(lostAt)}.`;
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    close();
    leaveReading();
  } else if (topics.size) {
    concern();
    open();
  }
});
addEventListener("pagehide", close);
addEventListener("pageshow", (event) => {
  if (event.persisted && topics.size) {
    concern();
    open();
  }
});

// Forms that take long: the answer is taken without leaving the page.

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("form[data-busy]")) return;
  event.preventDefault();
  const button = form.querySelector("button");
  if (button.getAttribute("aria-disabled") === "true") return;
  const label = button.textContent;
  button.setAttribute("aria-disabled", "true");
  button.textContent = form.dataset.busy;
  tell(form.dataset.busy);
  const outcome = element("outcome");
  try {
    const answer = await fetch(form.action, { method: "POST", headers: { Accept: "text/html" } });
    const read = new DOMParser().parseFromString(await answer.text(), "text/html");
    const told = read.getElementById("outcome")?.textContent.trim();
    if (answer.ok && told) {
      take(read);
      outcome.textContent = told;
      history.replaceState(null, "", new URL(answer.url).pathname); // The page shows the newest result from now on.
    } else outcome.textContent = read.querySelector(".lead")?.textContent ?? `The server answered ${answer.status}.`;
  } catch {
    outcome.textContent = "The server cannot be reached.";
  } finally {
    button.removeAttribute("aria-disabled");
    button.textContent = label;
    tell(outcome.textContent);
  }
});

localise(document);
open();
