"use strict";
// Sorts the rows of a table by a click on a header, or by the address: report.html#sort=t1.2.desc
// sorts the table t1 by its third column. The sorting key of a number stands in data-key, written
// by the program that made the page; cells without one are compared as text. Empty cells are last.
(function () {
  function key(row, column) {
    const cell = row.cells[column];
    const number = cell.getAttribute("data-key");
    return number === null ? cell.textContent.trim().toLowerCase() : Number(number);
  }

  function sort(table, column, direction) {
    const body = table.tBodies[0];
    const sign = direction === "descending" ? -1 : 1;
    const rows = Array.from(body.rows, (row, at) => ({ row, at, key: key(row, column) }));
    const empty = (k) => k === "" || k === "-";
    rows.sort((a, b) => {
      if (empty(a.key) !== empty(b.key)) return empty(a.key) ? 1 : -1;
      if (typeof a.key !== typeof b.key) return typeof a.key === "number" ? -1 : 1;
      if (a.key === b.key) return a.at - b.at;
      if (typeof a.key === "number") return sign * (a.key - b.key);
      return sign * a.key.localeCompare(b.key, undefined, { numeric: true });
    });
    body.append(...rows.map((entry) => entry.row));
    Array.from(table.tHead.rows[0].cells).forEach((cell, at) => {
      if (at === column) cell.setAttribute("aria-sort", direction);
      else cell.removeAttribute("aria-sort");
    });
  }

  function fromAddress() {
    const found = /^#sort=([\w-]+)\.(\d+)(\.desc)?$/.exec(window.location.hash);
    const table = found && document.getElementById(found[1]);
    if (!table || !table.tHead || Number(found[2]) >= table.tHead.rows[0].cells.length) return;
    sort(table, Number(found[2]), found[3] ? "descending" : "ascending");
    table.scrollIntoView();
  }

  document.querySelectorAll("table.sortable").forEach((table) => {
    Array.from(table.tHead.rows[0].cells).forEach((cell, column) => {
      cell.querySelector("button").addEventListener("click", () => {
        const now = cell.getAttribute("aria-sort");
        sort(table, column, now === "ascending" ? "descending" : "ascending");
      });
    });
  });
  window.addEventListener("hashchange", fromAddress);
  fromAddress();
})();
