"use strict";
// Sorting: a click on a column's name sorts its table, a second one the other way round. Cells
// without a value stay at the end.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.closest("th");
    const table = head.closest("table");
    const body = table.tBodies[0];
    const column = head.cellIndex;
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.querySelectorAll("th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => {
      const cell = row.cells[column];
      const value = cell ? cell.dataset.v ?? cell.textContent.trim() : "";
      return value === "" || value === "–" ? null : value;
    };
    const number = (text) => (text === null || text === "" ? NaN : Number(text));
    const rows = [...body.rows].map((row, place) => ({ row, place, key: key(row) }));
    const numeric = rows.every(({ key }) => key === null || !Number.isNaN(number(key)));
    rows.sort((a, b) => {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.place - b.place;
      const order = numeric ? number(a.key) - number(b.key) : a.key.localeCompare(b.key, "en");
      return (up ? order : -order) || a.place - b.place;
    });
    body.append(...rows.map(({ row }) => row));
  });
}

// Details of a cell: while the pointer rests on it, or after a tap or Enter until it is closed.
const source = document.getElementById("cells");
const box = document.getElementById("details");
if (source && box) {
  const known = JSON.parse(source.textContent);
  const make = (name, text, parent) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  };
  let pinned = false;
  const pin = (on) => {
    pinned = on;
    // Until it is pinned the box lets the pointer through: where it covers the cell it would close itself.
    box.classList.toggle("pinned", on);
  };
  const hide = () => {
    box.hidden = true;
    pin(false);
  };
  const show = (button) => {
    const [row, column] = button.dataset.cell.split(",").map(Number);
    const cell = known.cells[row][column];
    box.replaceChildren();
    const close = make("button", "×", box);
    close.className = "close";
    close.setAttribute("aria-label", "close");
    close.addEventListener("click", hide);
    make("h3", `${known.columns[column]} on ${known.rows[row]}`, box);
    const used = [...new Set(cell.map((split) => split.p).filter((p) => p !== undefined))];
    for (const p of used) {
      const splits = cell.filter((split) => split.p === p).map((split) => split.s);
      const head = used.length > 1 ? `parameters of split ${splits.join(", ")}: ` : "parameters: ";
      make("p", head + known.params[p], box).className = "note";
    }
    const table = make("table", undefined, box);
    const line = (fields, name) => {
      const tr = make("tr", undefined, table);
      for (const field of fields) make(name, field, tr);
    };
    line(["split", "accuracy", "seconds", "gap", "iterations", "converged"], "th");
    const say = (value) => {
      if (value === null) return "–";
      return value !== 0 && Math.abs(value) < 0.01 ? value.toExponential(1) : value.toPrecision(3);
    };
    for (const split of cell) {
      if (split.e !== undefined) {
        const tr = make("tr", undefined, table);
        make("td", split.s, tr);
        const reason = make("td", split.e, tr);
        reason.colSpan = 5;
        reason.className = "word prose";
        continue;
      }
      const ended = split.c === null ? "–" : split.c ? "yes" : "no";
      line([split.s, split.a.toFixed(2), say(split.t), say(split.g), split.i ?? "–", ended], "td");
    }
    box.hidden = false;
    const at = button.getBoundingClientRect();
    const size = box.getBoundingClientRect();
    const left = Math.max(8, Math.min(at.left, innerWidth - size.width - 8));
    const below = at.bottom + 6 + size.height < innerHeight;
    box.style.left = `${left}px`;
    box.style.top = `${below ? at.bottom + 6 : Math.max(8, at.top - size.height - 6)}px`;
  };
  for (const button of document.querySelectorAll("button[data-cell]")) {
    button.addEventListener("pointerenter", (event) => {
      if (!pinned && event.pointerType === "mouse") show(button);
    });
    button.addEventListener("pointerleave", (event) => {
      if (!pinned && event.pointerType === "mouse") hide();
    });
    button.addEventListener("click", () => {
      show(button);
      pin(true);
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  document.addEventListener("click", (event) => {
    if (pinned && !box.contains(event.target) && !event.target.closest("button[data-cell]")) hide();
  });
}
