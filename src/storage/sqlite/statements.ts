/** The SQL of the store. Ranges are [start, end); text compares as UTF-8 bytes. */

export const SELECT_COMPACTED = 'SELECT revision FROM compaction';
export const UPDATE_COMPACTED = 'UPDATE compaction SET revision = ?';
export const SELECT_LAST_REVISION = 'SELECT max(revision) AS revision FROM change';
/** All columns but the value, oldest first, to build the index. */
export const SELECT_HISTORY = 'SELECT revision, key, deleted, created, expires FROM change ORDER BY revision';

/** In the order of the file, which is much faster than row by row in key order. */
export const SELECT_VALUES =
  'SELECT revision, key, created, value FROM change WHERE key >= ? AND key < ? ORDER BY revision';

export const SELECT_ROW = 'SELECT key, revision, created, value FROM change WHERE revision = ?';
export const INSERT_CHANGE = `
  INSERT INTO change (revision, key, deleted, created, previous, expires, value) VALUES (?, ?, ?, ?, ?, ?, ?)`;

/** Changes to undo, oldest first. */
export const SELECT_UNDONE = `
  SELECT key, previous FROM change WHERE revision > ? AND key >= ? AND key < ? ORDER BY revision`;

export const SELECT_EVENTS = `
  SELECT key, revision, deleted, created, value FROM change
  WHERE revision > ? AND key >= ? AND key < ? ORDER BY revision`;

/** Replaced and deleted entries, which only earlier reads need. */
export const DELETE_SUPERSEDED = `
  DELETE FROM change WHERE revision IN (
    SELECT previous FROM change WHERE revision > ? AND revision <= ? AND previous > 0)`;
export const DELETE_TOMBSTONES = 'DELETE FROM change WHERE revision > ? AND revision <= ? AND deleted = 1';

export const BEGIN = 'BEGIN IMMEDIATE';
export const COMMIT = 'COMMIT';
