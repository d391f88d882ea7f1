// The reporter of the test stages: prints nothing about passed tests, each failed test with its error, and at the end the output
// of files with failures, the slowest files, and skipped tests with their reasons. When KEELSON_TEST_TOTALS names a file, totals
// and skipped tests are written there as JSON instead, for the end of all stages.
import { writeFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';

import { NO_REASON, type Skip, skipsText } from './skips.ts';

/** The result of one run of node:test. Suites are not counted. */
export interface TestTotals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Skipped tests, and suites skipped with all their tests. */
  readonly skips: readonly Skip[];
  /** Files with a failed test or an error outside of tests, relative to the checkout, sorted. */
  readonly failedFiles: readonly string[];
}

/** The limit of slowest files that are listed. */
const MOST_SHOWN = 10;
const LEAST_SHOWN_SECONDS = 5;

type Counts = Record<string, number>;

/** node:test's reporter interface: events in, text out. */
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const outputs = new Map<string, string>();
  const failedFiles = new Set<string>();
  const seconds = new Map<string, number>();
  const skips: Skip[] = [];
  const startedMs = performance.now();
  for await (const { type, data } of events) {
    const given = (data as { file?: string } | undefined)?.file;
    const file = given === undefined ? undefined : resolve(given);
    if (type === 'test:stdout' || type === 'test:stderr') {
      outputs.set(file ?? '', `${outputs.get(file ?? '') ?? ''}${data.message}`);
    } else if (type === 'test:pass') {
      if (data.skip !== undefined && data.skip !== false) skips.push(skipOf(data, file));
    } else if (type === 'test:fail') {
      failedFiles.add(file ?? '');
      if (isOwnFailure(data.details.error)) yield failureText(data);
    } else if (type === 'test:summary' && file === undefined) {
      for (const failed of failedFiles) yield outputText(failed, outputs.get(failed));
      const totals = totalsOf(data.counts as unknown as Counts, skips, failedFiles);
      yield summaryText(totals, performance.now() - startedMs);
      yield slowestText(seconds);
    } else if (type === 'test:summary') {
      seconds.set(file ?? '', data.duration_ms / 1000);
      if (data.success) outputs.delete(file ?? '');
      else failedFiles.add(file ?? '');
    }
  }
}

function outputText(file: string, text: string | undefined): string {
  return text === undefined ? '' : `  output of ${file}:\n${indent(text)}\n`;
}

// A suite or file fails with its tests; only the test itself is reported.
function isOwnFailure(error: unknown): boolean {
  const failureType = (error as { failureType?: string } | undefined)?.failureType;
  return failureType !== 'subtestsFailed' && failureType !== 'cancelledByParent';
}

function failureText(data: { name: string; file?: string; line?: number; details: { error: Error } }): string {
  const error = (data.details.error.cause as Error | undefined) ?? data.details.error;
  return `✖ ${data.name} (${data.file ?? '?'}:${data.line ?? 0})\n${indent(inspect(error, { colors: false, depth: 8 }))}\n`;
}

function skipOf({ name, skip }: { name: string; skip?: string | boolean }, file = '?'): Skip {
  const reason = typeof skip === 'string' && skip !== '' ? skip : NO_REASON;
  return { name, file: relative(process.cwd(), file), reason };
}

function totalsOf(counts: Counts, skips: readonly Skip[], failedFiles: ReadonlySet<string>): TestTotals {
  return {
    passed: counts['passed'] ?? 0,
    failed: (counts['failed'] ?? 0) + (counts['cancelled'] ?? 0),
    skipped: (counts['skipped'] ?? 0) + (counts['todo'] ?? 0),
    skips,
    failedFiles: [...failedFiles].map((file) => relative(process.cwd(), file)).toSorted(),
  };
}

function summaryText(totals: TestTotals, durationMs: number): string {
  const path = process.env['KEELSON_TEST_TOTALS'];
  if (path !== undefined) writeFileSync(path, JSON.stringify(totals));
  const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : '';
  const reasons = path === undefined ? skipsText(totals.skips) : '';
  return `  ${totals.passed} tests passed, ${totals.failed} failed${skipped} in ${(durationMs / 1000).toFixed(1)} s\n${reasons}`;
}

/** The slowest files of a run, if they take more than moments. Exported for its test. */
export function slowestText(seconds: ReadonlyMap<string, number>): string {
  const slowest = [...seconds].toSorted(([, a], [, b]) => b - a).slice(0, MOST_SHOWN);
  return slowest
    .filter(([, took]) => took >= LEAST_SHOWN_SECONDS)
    .map(([file, took]) => `  ${took.toFixed(1).padStart(7)} s  ${relative(process.cwd(), file)}\n`)
    .join('');
}

function indent(text: string): string {
  return text.trimEnd().replace(/^/gm, '    ');
}
