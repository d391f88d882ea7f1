import assert from 'node:assert/strict';
import { test } from 'node:test';

import { emptyComments, emptyCommentsBelow, riddles, unnamedComments } from './empty-comments.ts';
import { plantTree } from './planted-tree.ts';

/** Comments that repeat the declaration below them. */
const empty: readonly (readonly [string, string])[] = [
  ['Creates the plugin.', 'export function createNodeName(): SchedulerPlugin {'],
  ['Makes the Job controller.', 'export function createJobController(deps: ControllerDeps): Controller {'],
  ['What it needs.', 'export interface QueueDeps {'],
  ['What pod workers need.', 'export interface PodWorkersDeps extends Other {'],
  ['Whether the pod is terminating.', 'export function isPodTerminating(pod: Pod): boolean {'],
  ['Its name.', '  readonly name: string;'],
  ['The options.', 'export type Options ='],
  ['The lists of pods', 'const podList = 1;'],
  ['The HTTP header', '  static readonly HTTP_HEADER?: string;'],
  ['Settings of the kubelet.', "  'kubelet'?: KubeletConfig;"],
  ['Constructor.', '  constructor() {'],
  ['Declares the library.', 'export function defineSets(declarations: Declarations): void {'],
  ['Registers them.', 'export function createJobMetrics(metrics: Metrics): JobMetrics {'],
  ['What the plugin works with.', 'export interface VolumeBindingDeps extends VolumeObjects {'],
];

/** Comments with information, and comments of no declaration. */
const telling: readonly (readonly [string, string])[] = [
  ['Seconds since the start.', 'const age = 1;'],
  ['Creates it unless it is there.', 'export async function createLease(): Promise<void> {'],
  ['What all profiles share.', 'export interface ProfilesDeps {'],
  ['The name, unique in its namespace.', '  readonly name: string;'],
  ['The time (UTC).', 'const time = 1;'],
  ['The port: 8080.', 'const port = 8080;'],
  ['Whether no container runs.', 'export function isPodTerminal(pod: Pod): boolean {'],
  ['Never the name.', 'const name = 1;'],
  ['@throws name', 'export function name() {'],
  ['The name.', '// name'],
  ['', 'const name = 1;'],
];

const sourceOf = (comment: string, declaration: string): string => `const x = 1;\n/** ${comment} */\n${declaration}\n`;

test('a comment whose words all occur in its declaration is empty', () => {
  for (const [comment, declaration] of empty)
    assert.deepEqual(
      emptyComments(sourceOf(comment, declaration)),
      [{ firstLine: 2, lastLine: 2, text: comment }],
      `${comment} ${declaration}`,
    );
});

test('a comment with a word or a sign of its own has information', () => {
  for (const [comment, declaration] of telling)
    assert.deepEqual(emptyComments(sourceOf(comment, declaration)), [], `${comment} ${declaration}`);
});

test("a comment may have several lines, and a file's first comment is never empty", () => {
  assert.deepEqual(emptyComments('const x = 1;\n/**\n * The name\n * of the pod.\n */\nconst podName = 1;\n'), [
    { firstLine: 2, lastLine: 5, text: 'The name of the pod.' },
  ]);
  assert.deepEqual(emptyComments('/** The pods. */\nexport const pods = 1;\n'), []);
});

test('empty comments are found in products, tools and tests, and not in generated files', () => {
  const source = sourceOf('The name.', 'const name = 1;');
  using tree = plantTree({
    'src/api/bad.ts': source,
    'src/api/gen/bad.ts': source,
    'tools/bad.ts': source,
    'test/bad.test.ts': source,
  });
  assert.deepEqual(emptyCommentsBelow(tree.root), {
    files: 3,
    violations: ['src/api/bad.ts:2 The name.', 'test/bad.test.ts:2 The name.', 'tools/bad.ts:2 The name.'],
    unnamed: [],
    riddles: [],
  });
});

test('a comment that begins with the owner of a thing leaves out the thing', () => {
  const found = unnamedComments(
    [
      sourceOf('Of one turn, at most.', 'const STEPS = 1;'),
      '/**\n * Of each write its revision,\n * and more.\n */',
      sourceOf('So many are tried.', 'const MOST = 1;'),
      sourceOf('Told of every change.', 'onChange(): void;'),
    ].join('\n'),
  );
  assert.deepEqual(
    found.map(({ firstLine, text }) => [firstLine, text]),
    [
      [2, 'Of one turn, at most.'],
      [5, 'Of each write its revision,'],
      [10, 'So many are tried.'],
      [14, 'Told of every change.'],
    ],
  );
});

test('the same word is accepted when the thing is named, and inside a text', () => {
  for (const text of ['Steps of one turn.', 'Offers a node.', 'The size. Of keys: 0.'])
    assert.deepEqual(unnamedComments(sourceOf(text, 'const x = 1;')), [], text);
});

test('comments that leave out the thing are found only in the product', () => {
  const source = sourceOf('Of one turn, at most.', 'const STEPS = 1;');
  using tree = plantTree({ 'src/api/bad.ts': source, 'tools/bad.ts': source });
  assert.deepEqual(emptyCommentsBelow(tree.root).unnamed, ['src/api/bad.ts:2 Of one turn, at most.']);
});

test('a turn of phrase with a plain word is a riddle, only in comments of the product', () => {
  const texts = (source: string): readonly string[] =>
    riddles(source).map(({ firstLine, text }) => `${firstLine} ${text}`);
  assert.deepEqual(texts(sourceOf('Gives back what it holds.', 'const x = 1;')), [
    '2 "Gives back" (returns, releases)',
  ]);
  assert.deepEqual(texts('/**\n * Each is\n * told.\n */\nf();\n// waits for nothing\n'), [
    '1 "is told" (is called with, is notified of)',
    '6 "for nothing" (without effect, at once)',
  ]);
  assert.deepEqual(texts(sourceOf('Waits for nothing but seats.', "const x = 'of late, is told';")), []);
  using tree = plantTree({
    'src/api/bad.ts': sourceOf('Reads what was lost of late.', 'const x = 1;'),
    'src/api/good.test.ts': sourceOf('Reads what was lost of late.', 'const x = 1;'),
    'tools/good.ts': sourceOf('Reads what was lost of late.', 'const x = 1;'),
  });
  assert.deepEqual(emptyCommentsBelow(tree.root).riddles, ['src/api/bad.ts:2 "of late" (recently)']);
});
