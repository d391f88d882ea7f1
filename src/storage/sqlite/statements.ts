/** The SQL of the store. Ranges are [start, end); text compares as UTF-8 bytes. */

export const selectCompacted = 'SELECT revision FROM compaction';
export const updateCompacted = 'UPDATE compaction SET revision = ?';
export const selectLastRevision = 'SELECT max(revision) AS revision FROM change';
/** Everything but the values, oldest first: what the index is made of. */
export const selectHistory = 'SELECT revision, key, deleted, created, expires FROM change ORDER BY revision';

/** In the order of the file: by far quicker than row by row in the order of keys. */
export const selectValues =
  'SELECT revision, key, created, value FROM change WHERE key >= ? AND key < ? ORDER BY revision';

export const selectRow = 'SELECT key, revision, created, value FROM change WHERE revision = ?';
export const insertChange = `
  INSERT INTO change (revision, key, deleted, created, previous, expires, value) VALUES (?, ?, ?, ?, ?, ?, ?)`;

/** Changes to be taken back, oldest first. */
export const selectUndone = `
  SELECT key, previous FROM change WHERE revision > ? AND key >= ? AND key < ? ORDER BY revision`;

export const selectEvents = `
  SELECT key, revision, deleted, created, value FROM change
  WHERE revision > ? AND key >= ? AND key < ? ORDER BY revision`;

/** What the changes of the step replaced or deleted is needed only by reads before them. */
export const deleteSuperseded = `
  DELETE FROM change WHERE revision IN (
    SELECT previous FROM change WHERE revision > ? AND revision <= ? AND previous > 0)`;
export const deleteTombstones = 'DELETE FROM change WHERE revision > ? AND revision <= ? AND deleted = 1';
