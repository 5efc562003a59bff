// What the server is expected to offer. Figures stand here and nowhere else:
// a new family is one more line.

// legacyTools counts the names that a family's actions had as single tools, apart
// the actions that are listed as tools of their own.
const families = {
  memory: { legacyTools: 10, core: true },
  session: { legacyTools: 7 },
  task: { legacyTools: 5, core: true },
  queue: { legacyTools: 2 },
  agent: { legacyTools: 5, core: true },
  ability: { legacyTools: 5 },
  design: { legacyTools: 5 },
  workflow: { legacyTools: 3 },
  script: { legacyTools: 0 },
  bugfix: { legacyTools: 3 },
  refactor: { legacyTools: 3 },
  guard: { legacyTools: 3 },
  trace: { legacyTools: 3 },
  metrics: { legacyTools: 4 },
  timer: { legacyTools: 2 },
  telemetry_summary: { legacyTools: 1 },
  config: { legacyTools: 3, core: true },
  tools: { legacyTools: 7, discovery: true, apart: 1 },
};

export const modes = ['consolidated', 'legacy'];
export const levels = ['search', 'lazy', 'signature', 'full'];

/** How many tools a mode lists at a level; without one, at the mode's own. */
export function listedTools(mode, level) {
  // The whole legacy list is what it always was, without discovery.
  const whole = mode === 'legacy' && (level === undefined || level === 'full');
  const shown = Object.values(families)
    .filter((family) => !(whole && family.discovery))
    .filter((family) => level !== 'search' || family.core || family.discovery);
  if (mode === 'consolidated') return shown.reduce((sum, family) => sum + 1 + (family.apart ?? 0), 0);
  return shown.reduce((sum, family) => sum + family.legacyTools, 0);
}

export const maxInstructions = 400; // characters
export const maxValueBytes = 256 << 10;
export const maxRefusal = 4000; // characters of an answer to nonsense
