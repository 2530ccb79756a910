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
//
// Where the stream stood when the server began to make the page stands in data-after;
// the first stream goes on from there, so that nothing between the two is missed.
//
// A page that nobody keeps up to date any more says so at its top, with the time of
// the last word from the server, and shows no status as one that counts now: its body
// has the class stale. Ages go on by the clock of this machine at all times.

const eventsAddress = "/api/v1/events";
const settleMs = 300; // how long events gather before the page is read again
const gatherMs = Number(document.body.dataset.gather) || settleMs; // the same, on a page that counts later
const retryMs = [2000, 5000, 15000, 30000]; // when a stream ended for good; the last one repeats
const maxTold = 3; // changes that are told in words at once
const graceMs = 3000; // how long a page that is not live keeps it to itself
const silenceMs = 15_000; // without any event: the server tells one every 5 s at least, so the stream is lost
const readMs = 15_000; // how long a page may take to be read again
const secondMs = 1000;

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
  if (zone && name && name !== "UTC") zone.textContent = `Times are in your zone, ${name}, now ${offset(new Date())}.`;
}

// offset is how far the reader's clock is from UTC: UTC+5:30.
function offset(moment) {
  const ahead = -moment.getTimezoneOffset(); // minutes
  const minutes = Math.abs(ahead) % 60;
  if (!ahead) return "UTC";
  return `UTC${ahead < 0 ? "-" : "+"}${Math.floor(Math.abs(ahead) / 60)}${minutes ? `:${String(minutes).padStart(2, "0")}` : ""}`;
}

// drawn is when the page was made by the clock of the server, and read by that of
// this machine; the two need not agree.
let drawn;

function noteDrawn() {
  const made = new Date(document.querySelector("#drawn time")?.dateTime).getTime();
  drawn = Number.isNaN(made) ? undefined : { made, read: Date.now() };
}

// grow writes how long ago the moments of the page are by now, and does so again.
function grow() {
  setTimeout(grow, secondMs);
  if (!drawn) return;
  const now = drawn.made + Math.max(Date.now() - drawn.read, 0);
  for (const time of document.querySelectorAll("time[data-age]")) {
    const words = age(now - new Date(time.dateTime).getTime());
    if (words && time.textContent !== words) time.textContent = words;
  }
}

// age is a time in its largest unit, as the server writes it.
function age(ms) {
  const seconds = Math.floor(Math.max(ms, 0) / 1000);
  if (Number.isNaN(seconds)) return "";
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 2 * 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} days`;
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
  noteDrawn();
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
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(readMs)]);
  reading = request;
  const known = heard; // Of what is told from here on, the page shows nothing if it cannot be read.
  try {
    const answer = await fetch(location.href, { signal, cache: "no-store", headers: { Accept: "text/html", "Countersign-Again": "1" } });
    const read = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (request.signal.aborted) return;
    if (answer.status < 500 && read.getElementById("main")) {
      take(read);
      heard = new Date();
      if (lostAt) lostAt = heard;
    }
    link(answer.status < 500 && stream?.readyState === EventSource.OPEN, known);
  } catch {
    if (!request.signal.aborted) link(false, known); // It is read again when the stream is back, or with its next event.
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
let heard = new Date(); // the last word from the server: an event, or the page itself
let lostAt; // since when the page is not live: the last word by which it was
let grace; // the timer until it says so
let silence; // the timer until a stream that tells nothing counts as lost

function open() {
  clearTimeout(retrying);
  if (stream || !topics.size || document.hidden) return;
  const after = lostAt ? undefined : document.body.dataset.after; // Who was away for long does not go over all of it.
  stream = new EventSource(after ? `${eventsAddress}?after=${after}` : eventsAddress);
  listen();
  stream.addEventListener("open", () => {
    attempts = 0;
    hear();
    if (lostAt || !after) concern(); // What happened meanwhile was told to nobody.
    else link(true);
  });
  stream.addEventListener("error", () => {
    link(false);
    if (stream?.readyState === EventSource.CLOSED) retry(); // Else it connects again by itself.
  });
  for (const told of ["ready", "task", "component", "run", "reset", "tick", "beat"]) stream.addEventListener(told, hear);
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
  clearTimeout(silence);
  stream?.close();
  stream = undefined;
}

function retry() {
  close();
  retrying = setTimeout(open, retryMs[Math.min(attempts++, retryMs.length - 1)]);
}

// hear notes a word from the server.
function hear() {
  heard = new Date();
  listen();
}

// listen waits for the next event. A server that hangs, and a network that is gone,
// end no stream. Such a silence has lasted already, and is said at once.
function listen() {
  clearTimeout(silence);
  silence = setTimeout(() => {
    lostAt ??= heard;
    sayLost();
    retry();
  }, silenceMs);
}

// link notes whether the page is live, and if it is not, by when it was last known to
// be. That it is not is said when it lasts.
function link(live, known = heard) {
  if (!live) {
    lostAt ??= known;
    if (document.body.classList.contains("stale")) sayLost();
    else grace ??= setTimeout(sayLost, graceMs);
    return;
  }
  lostAt = undefined;
  clearTimeout(grace);
  grace = undefined;
  document.body.classList.remove("stale");
  const mark = element("link");
  mark.hidden = true;
  mark.textContent = "";
}

function sayLost() {
  document.body.classList.add("stale");
  const mark = element("link");
  const words = `Not live since ${localTime.format(lostAt)}: this page shows what was known then.`;
  mark.hidden = false;
  if (mark.textContent !== words) mark.textContent = words;
}

// comeBack makes a page live that was away; until it is, it is not taken for one.
function comeBack() {
  link(false);
  concern();
  open();
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    close();
    leaveReading();
    lostAt ??= heard; // It is up to date to here, should it not be read again.
  } else if (topics.size) {
    comeBack();
  }
});
addEventListener("pagehide", () => {
  close();
  lostAt ??= heard;
});
addEventListener("pageshow", (event) => {
  if (event.persisted && topics.size) comeBack();
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
      heard = new Date();
      outcome.textContent = told;
      history.replaceState(null, "", new URL(answer.url).pathname); // The page shows the newest result from now on.
    } else outcome.textContent = read.querySelector(".lead")?.textContent ?? `The server answered ${answer.status}.`;
  } catch {
    outcome.textContent = "The server cannot be reached.";
    link(false);
    concern();
  } finally {
    button.removeAttribute("aria-disabled");
    button.textContent = label;
    tell(outcome.textContent);
  }
});

localise(document);
noteDrawn();
grow();
if (document.hidden) lostAt = heard; // As when it is hidden later.
open();
