// Replaces the parts of a page that are marked data-live when the server reports a change. A part stays while the user has
// the focus or a selection in it, or the pointer over its buttons. Parts that are marked data-watch are never replaced: an
// element with the id of the part and "-news" is shown when the part has changed.
'use strict';

const failures = 3; // in a row, after which the server counts as gone
let source, failed = 0, loading = false, again = false;
let newest; // the last document that was loaded, for parts that could not be replaced yet

/** Reports whether the user is at work in a part. */
function busy(part) {
  const selection = document.getSelection();
  return part.contains(document.activeElement) || part.querySelector('form') !== null && part.matches(':hover')
    || selection !== null && !selection.isCollapsed && selection.containsNode(part, true);
}

/** Replaces a part, and scrolls the new one like the old one. */
function replace(part, now) {
  const places = (of) => [...of.querySelectorAll('.wide, pre')];
  const scrolled = places(part).map((place) => [place.scrollLeft, place.scrollTop]);
  part.replaceWith(now);
  places(now).slice(0, scrolled.length).forEach((place, i) => place.scrollTo(...scrolled[i]));
}

/** Replaces the parts that differ from the newest document, as far as the user is not in them. */
function apply() {
  if (!newest) return;
  let left = false;
  for (const part of document.querySelectorAll('[data-live]')) {
    const now = newest.getElementById(part.id);
    if (!now || now.outerHTML === part.outerHTML) continue;
    if (busy(part)) left = true;
    else replace(part, document.importNode(now, true));
  }
  for (const part of document.querySelectorAll('[data-watch]')) {
    const now = newest.getElementById(part.id), news = document.getElementById(`${part.id}-news`);
    if (news && (!now || now.outerHTML !== part.outerHTML)) news.hidden = false;
  }
  if (!left) newest = undefined;
}

/** Loads the page again, once more if another change comes meanwhile. */
async function load() {
  if (loading) {
    again = true;
    return;
  }
  loading = true;
  try {
    do {
      again = false;
      const answer = await fetch(location.href, { headers: { Accept: 'text/html' } });
      if (!answer.ok || answer.redirected) break; // an entry that is gone, or a login: the user sees that on the next click
      newest = new DOMParser().parseFromString(await answer.text(), 'text/html');
      apply();
    } while (again);
  } catch {
    // The server is gone: the stream reports that.
  } finally {
    loading = false;
  }
}

const pause = 300; // milliseconds without an input before a form is checked

/** Shows what a form that is marked data-check would do, while the user writes. Its button "check" does the same. */
function check(form) {
  let waiting, sent = 0;
  form.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      const number = ++sent;
      const body = new URLSearchParams(new FormData(form));
      body.set('action', 'check');
      try {
        const answer = await fetch(form.getAttribute('action'), { method: 'POST', body, headers: { Accept: 'text/html' } });
        const now = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById(form.dataset.check);
        if (now && number === sent) document.getElementById(form.dataset.check).replaceChildren(...document.importNode(now, true).childNodes);
      } catch {
        // The server is gone: the buttons report that.
      }
    }, pause);
  });
}

for (const form of document.querySelectorAll('form[data-check]')) check(form);

function stop() {
  source?.close();
  source = undefined;
}

function listen() {
  stop();
  if (document.hidden) return;
  source = new EventSource('/changes');
  source.onmessage = () => {
    failed = 0;
    document.getElementById('gone').hidden = true;
    load();
  };
  source.onerror = () => {
    if (++failed < failures && source?.readyState !== EventSource.CLOSED) return;
    stop();
    document.getElementById('gone').hidden = false;
  };
}

if (document.querySelector('[data-live], [data-watch]')) {
  listen();
  document.addEventListener('visibilitychange', listen);
  window.addEventListener('pagehide', stop);
  window.addEventListener('pageshow', (event) => { if (event.persisted) listen(); });
  for (const name of ['focusout', 'pointerout', 'selectionchange']) {
    document.addEventListener(name, () => { if (newest) setTimeout(apply); });
  }
}
