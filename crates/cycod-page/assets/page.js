// Puts what the stream sends in its place, plans a call while its form is filled in, and handles keys. Pages work without it.
(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const MOST = 2000;

  // The code is behind the #, so that no request, log or history of a proxy has it.
  const wayIn = $("way-in");
  if (wayIn && location.hash.length > 1) {
    wayIn.elements.code.value = location.hash.slice(1);
    history.replaceState(null, "", "/in");
    wayIn.requestSubmit();
    return;
  }

  const patch = (id, markup) => {
    const old = $(id);
    if (!old) return;
    const focused = document.activeElement && old.contains(document.activeElement) ? document.activeElement.id : "";
    const log = $("log");
    const top = log && old.contains(log) ? log.scrollTop : null;
    const holder = document.createElement("template");
    holder.innerHTML = markup;
    old.replaceWith(holder.content);
    if (focused && $(focused)) $(focused).focus({ preventScroll: true });
    if (top !== null && $("log")) $("log").scrollTop = top;
  };

  let open = false;
  const append = ({ html, skipped, open: isOpen }) => {
    const log = $("log");
    if (!log) return;
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    const silent = $("silent");
    if (silent) silent.remove();
    const holder = document.createElement("template");
    holder.innerHTML = html;
    const first = holder.content.firstElementChild;
    // A line that had no end yet goes on.
    if (open && first && log.lastElementChild) {
      log.lastElementChild.textContent += first.textContent;
      first.remove();
    }
    open = isOpen;
    log.append(holder.content);
    let extra = log.childElementCount - MOST;
    if ((skipped || extra > 0) && $("skipped")) $("skipped").hidden = false;
    while (extra-- > 0) log.firstElementChild.remove();
    if (atEnd) log.scrollTop = log.scrollHeight;
  };

  const live = document.body.dataset.live;
  let stream = null;
  let last = "";
  const follow = () => {
    if (!live || stream || document.hidden) return;
    stream = new EventSource(last ? `${live}&seen=${last}` : live);
    stream.onopen = () => document.body.removeAttribute("data-lost");
    stream.onerror = () => {
      const isOver = stream.readyState === EventSource.CLOSED;
      document.body.dataset.lost = isOver ? document.body.dataset.refused : "reconnecting…";
    };
    stream.addEventListener("patch", (event) => {
      if (event.lastEventId) last = event.lastEventId;
      const { id, html } = JSON.parse(event.data);
      const before = Number($("waiting")?.dataset.count ?? 0);
      patch(id, html);
      const now = Number($("waiting")?.dataset.count ?? 0);
      if (now > before) $("announcement").textContent = "A call waits for your approval.";
    });
    stream.addEventListener("log", (event) => {
      last = event.lastEventId;
      append(JSON.parse(event.data));
    });
    stream.addEventListener("bye", () => {
      stream.close();
      document.body.removeAttribute("data-lost");
    });
  };
  // A browser has six connections for a site: a tab that nobody sees needs none.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && stream && stream.readyState !== EventSource.CLOSED) {
      stream.close();
      stream = null;
    } else follow();
  });
  follow();
  const log = $("log");
  if (log) log.scrollTop = log.scrollHeight;

  const call = $("call");
  if (call && call.dataset.preview) {
    let timer = 0;
    let number = 0;
    call.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(async () => {
        const mine = ++number;
        const body = new URLSearchParams(new FormData(call));
        const answer = await fetch(call.dataset.preview, { method: "POST", body, headers: { "X-Part": "preview" } }).catch(() => null);
        if (answer && answer.ok && mine === number) $("preview").innerHTML = await answer.text();
      }, 250);
    });
    for (const rows of call.querySelectorAll(".list-rows")) {
      const add = rows.querySelector(".add");
      add.hidden = false;
      add.addEventListener("click", () => {
        const one = rows.querySelector("input").cloneNode();
        one.value = "";
        add.before(one);
        one.focus();
      });
    }
  }

  const rows = () => [...document.querySelectorAll("#main .row, #main .ask")];
  const step = (by) => {
    const all = rows();
    if (!all.length) return;
    const at = all.indexOf(document.activeElement?.closest?.(".row, .ask"));
    all[Math.min(all.length - 1, Math.max(0, at < 0 ? 0 : at + by))].focus();
  };
  const keys = {
    "/": () => $("find")?.focus(),
    g: () => location.assign("/"),
    r: () => location.assign("/runs"),
    a: () => location.assign("/approvals"),
    j: () => step(1),
    k: () => step(-1),
    "?": () => $("keys")?.showModal(),
  };
  document.addEventListener("keydown", (event) => {
    const target = event.target;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      const run = target.closest?.("#call")?.querySelector("button.primary");
      if (run) run.click();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest?.("input, textarea, select, dialog[open]")) return;
    const ask = document.activeElement?.matches?.(".ask") ? document.activeElement : null;
    const answer = ask && (event.key === "y" || event.key === "n") ? ask.querySelector(`[data-key="${event.key}"]`) : null;
    const act = answer ? () => answer.click() : keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
})();
