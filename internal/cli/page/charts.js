// Draws the tables that are marked data-plot, in the element before them: a plot for each text of data-plot in the heads of
// columns. The tables stay: they are the text of the plots.
'use strict';

/** The table's numbers by column, the time first; null where a cell has none. */
function columns(table) {
  const rows = [...table.rows].slice(1).map((row) => [...row.cells].map((cell) => ('value' in cell.dataset ? Number(cell.dataset.value) : null)));
  return [...table.rows[0].cells].map((_, i) => rows.map((row) => row[i]));
}

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Draws a plot of some columns, as wide as its place. */
function plot(place, title, heads, data) {
  const [text, line, grid] = ['--text', '--bar', '--line'].map(color);
  const clock = (seconds, long) => {
    const at = new Date(seconds * 1000), two = (n) => String(n).padStart(2, '0');
    const day = `${two(at.getMonth() + 1)}-${two(at.getDate())}`, time = `${two(at.getHours())}:${two(at.getMinutes())}`;
    return long ? `${day} ${time}` : time === '00:00' ? day : time;
  };
  const axis = { stroke: text, grid: { stroke: grid }, ticks: { stroke: grid } };
  const times = { ...axis, values: (_, splits) => splits.map((at) => clock(at, false)) };
  const strokes = [line, color('--bad')];
  const alone = (all) => [...all.keys()].filter((i) => all[i] !== null && (all[i - 1] ?? null) === null && (all[i + 1] ?? null) === null);
  const series = heads.map((label, i) => {
    const stroke = strokes[i % strokes.length];
    return { label, stroke, width: 2, points: { show: true, fill: stroke, filter: (drawn, column) => alone(drawn.data[column]) } };
  });
  const box = place.appendChild(document.createElement('div'));
  const size = () => ({ width: Math.max(200, box.clientWidth), height: 200 });
  const began = { label: 'began', value: (_, at) => (at === null ? '' : clock(at, true)) };
  const drawn = new uPlot({
    title, ...size(), series: [began, ...series], axes: [times, { ...axis, size: 70 }], cursor: { drag: { x: false } },
  }, data, box);
  new ResizeObserver(() => drawn.setSize(size())).observe(box);
}

function draw() {
  for (const table of document.querySelectorAll('table[data-plot]')) {
    const place = table.parentElement.previousElementSibling;
    place.replaceChildren();
    const data = columns(table), heads = [...table.rows[0].cells];
    for (const title of new Set(heads.slice(1).map((head) => head.dataset.plot))) {
      const picked = heads.flatMap((head, i) => (head.dataset.plot === title ? [i] : []));
      plot(place, title, picked.map((i) => heads[i].textContent), [data[0], ...picked.map((i) => data[i])]);
    }
  }
}

draw();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
