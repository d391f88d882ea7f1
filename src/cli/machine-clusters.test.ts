/** The index of data directories in other than the default places. */
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import { recordCluster } from './machine-clusters.ts';

const root = mkdtempSync(join(tmpdir(), 'keelson-index-'));
after(() => rmSync(root, { recursive: true }));

describe('a running cluster is noted', () => {
  const [folder, dataDir] = [join(root, 'index'), join(root, 'data')];
  const warnings: string[] = [];
  const note = (at = folder, known: readonly string[] = []): void =>
    recordCluster(dataDir, { warn: (message) => warnings.push(message) }, { folder: at, known });
  const targets = (): string[] => readdirSync(folder).map((name) => readlinkSync(join(folder, name)));

  beforeEach(() => {
    warnings.length = 0;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(dataDir, { recursive: true });
  });

  test('once, and dangling links are removed', () => {
    mkdirSync(folder);
    symlinkSync(join(root, 'gone'), join(folder, 'gone'));
    note();
    note();
    assert.deepEqual([targets(), warnings], [[dataDir], []]);
  });

  test('not where it is found without a link; an empty index is removed', () => {
    mkdirSync(folder);
    symlinkSync(join(root, 'gone'), join(folder, 'gone'));
    note(folder, [dataDir]);
    assert.deepEqual([existsSync(folder), warnings], [false, []]);
  });

  test('beside files that are no links, which stay', () => {
    mkdirSync(folder);
    symlinkSync(join(root, 'gone'), join(folder, 'gone'));
    writeFileSync(join(folder, 'README'), 'mine');
    note(folder, [dataDir]);
    assert.deepEqual(readdirSync(folder), ['README']);
    note();
    assert.deepEqual([readdirSync(folder).length, warnings], [2, []]);
  });

  test('or runs on where the link cannot be made, with a warning about the consequence', () => {
    writeFileSync(join(root, 'file'), '');
    note(join(root, 'file', 'index'));
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]!, /keelson ls will not list it/);
  });
});
