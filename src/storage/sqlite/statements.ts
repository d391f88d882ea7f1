/** The SQL of the store. Ranges are [start, end); text compares as UTF-8 bytes. */

export const selectCompacted = 'SELECT revision FROM compaction';
export const updateCompacted = 'UPDATE compaction SET revision = :to';
export const selectLastRevision = 'SELECT max(revision) AS revision FROM change';
export const selectExpiries = 'SELECT key, revision, expires FROM live WHERE expires IS NOT NULL';

export const selectOne = `
  SELECT live.key, live.revision, live.created, change.value
  FROM live JOIN change ON change.revision = live.revision WHERE live.key = ?`;
export const insertChange = `
  INSERT INTO change (revision, key, deleted, created, previous, value)
  VALUES (?, ?, ?, ?, ?, ?)`;
export const upsertLive = `
  INSERT INTO live (key, revision, created, expires) VALUES (?, ?, ?, ?)
  ON CONFLICT (key) DO UPDATE SET revision = excluded.revision, created = excluded.created, expires = excluded.expires`;
export const deleteLive = 'DELETE FROM live WHERE key = ?';

export const selectNow = `
  SELECT live.key, live.revision, live.created, change.value
  FROM live JOIN change ON change.revision = live.revision
  WHERE live.key >= :start AND live.key < :end ORDER BY live.key LIMIT :limit`;
export const countNow = 'SELECT count(*) AS n FROM live WHERE key >= :start AND key < :end';
export const countAll = 'SELECT count(*) AS n FROM live';

/** Keys not changed since, and what the first change since says was there before. */
const then = `
  WITH undone AS (
    SELECT key, previous, min(revision) FROM change
    WHERE revision > :revision AND key >= :start AND key < :end GROUP BY key
  ), at AS (
    SELECT key, revision FROM live WHERE key >= :start AND key < :end AND revision <= :revision
    UNION ALL SELECT key, previous FROM undone WHERE previous > 0
  )`;
export const selectThen = `${then}
  SELECT at.key, change.revision, change.created, change.value
  FROM at JOIN change ON change.revision = at.revision ORDER BY at.key LIMIT :limit`;
export const countThen = `${then} SELECT count(*) AS n FROM at`;

export const selectEvents = `
  SELECT c.key, c.revision, c.deleted, c.created, c.value,
    p.revision AS pRevision, p.created AS pCreated, p.value AS pValue
  FROM change c LEFT JOIN change p ON p.revision = c.previous
  WHERE c.revision > :revision AND c.key >= :start AND c.key < :end ORDER BY c.revision`;

/** What the changes of the step replaced or deleted is needed only by reads before them. */
export const deleteSuperseded = `
  DELETE FROM change WHERE revision IN (
    SELECT previous FROM change WHERE revision > :from AND revision <= :to AND previous > 0)`;
export const deleteTombstones = 'DELETE FROM change WHERE revision > :from AND revision <= :to AND deleted = 1';
