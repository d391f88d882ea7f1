/** Tables of kubectl commands with their output and exit codes. The rows of a group build on each other. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../integration/fixtures/until.ts';
import type { ControlPlaneFixture } from './control-plane-fixture.ts';

type Words = string | RegExp;

/** One command. */
export interface KubectlRow {
  /** Split at blanks, except within single quotes. */
  readonly run: string;
  readonly input?: string;
  /** Standard output; by default not checked. */
  readonly out?: Words;
  /** Standard error; by default nothing. */
  readonly err?: Words;
  /** Default 0. */
  readonly code?: number;
  /** The result depends on controllers: repeated until it is as expected. */
  readonly soon?: boolean;
}

/** Splits a command line at blanks, except within single quotes. */
export function kubectlArguments(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
}

function check(what: string, said: string, words: Words | undefined): void {
  if (words === undefined) return;
  if (typeof words === 'string') assert.equal(said, words, what);
  else assert.match(said, words, what);
}

/** Registers groups of rows, each a test, against this control plane. */
export function kubectlGroup(
  plane: () => ControlPlaneFixture,
): (name: string, rows: () => readonly KubectlRow[]) => void {
  return (name, rows) => {
    test(name, async (t) => {
      for (const row of rows()) {
        await t.test(`kubectl ${row.run}`, async () => {
          const once = async (): Promise<true> => {
            const said = await plane().kubectl(kubectlArguments(row.run), row.input);
            check('stderr', said.stderr, row.err ?? '');
            check('stdout', said.stdout, row.out);
            assert.equal(said.code, row.code ?? 0);
            return true;
          };
          await (row.soon ? until(row.run, once) : once());
        });
      }
    });
  };
}
