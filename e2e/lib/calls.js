// The memory actions under the names of either mode.

const legacyNames = {
  store: 'memory_store', get: 'memory_retrieve', search: 'memory_search', list: 'memory_list', delete: 'memory_delete',
};

/** A call of a memory action, as a client of the mode would write it. */
export const memory = {
  consolidated: (action, args = {}) => ({ name: 'memory', arguments: { action, ...args } }),
  legacy: (action, args = {}) => ({ name: legacyNames[action], arguments: args }),
};

export function otherMode(mode) {
  return mode === 'legacy' ? 'consolidated' : 'legacy';
}
