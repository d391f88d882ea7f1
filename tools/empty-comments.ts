// Finds comments that should be deleted or rewritten, in three forms:
// - an empty one: all its words are words of the declaration's first line, or fill a sentence; or it is a phrase that fits any
//   declaration of its kind ("What it works with." above `ReaderDeps`). It is deleted.
// - one that begins with "Of", "So many", "Told" or similar and never names the thing it is about ("Of one turn, at most."; "So
//   many
//   are tried."). The thing is named ("The most steps that one turn takes."). In the sources of the product and their tests.
// - one with a turn of phrase that makes the reader guess, such as "gives back", where a plain word states which of its meanings
//   holds (`RIDDLES`). In the sources of the product without their tests.
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { isMain, repositoryRoot } from './repository.ts';

/** Lines are counted from 1. */
export interface EmptyComment {
  readonly firstLine: number;
  readonly lastLine: number;
  readonly text: string;
}

/** Words of a sentence that carry no information. */
const FILLERS: ReadonlySet<string> = new Set(
  'a an the of its it this that is are be has have whether what which one for to by in with from as'.split(' '),
);

/** Pairs of words that declarations and comments use for the same thing. */
const SYNONYMS: ReadonlyMap<string, readonly string[]> = new Map([
  ['create', ['make', 'makes', 'new']],
  ['make', ['create', 'creates']],
  ['deps', ['need', 'needs', 'dependencies']],
  ['config', ['configuration', 'settings']],
  ['get', ['gives', 'returns']],
  ['args', ['arguments']],
]);

/** Turns of phrase that make a reader guess, with the plain words that replace them. */
const RIDDLES: readonly (readonly [phrase: RegExp, plain: string])[] = [
  [/\bgives? back\b/i, 'returns, releases'],
  [/\btaken back\b/i, 'undone, removed'],
  [/\b(?:is|are) told\b|\bhears? of (?:it|that|each|all)\b(?! (?:stream|revision))/i, 'is called with, is notified of'],
  [/\bfor nothing\b(?! (?:else|but)\b)|\bcomes? to nothing\b/i, 'without effect, at once'],
  [/\bof late\b/i, 'recently'],
  [/\bnothing there is no\b/i, 'a missing one is no'],
];

/** Phrases of at most five words that fit any factory function, and any interface of dependencies. */
const OF_ANY_FACTORY = /^(?:Makes|Creates|Registers|Declares|Attaches|Builds) (?:it|them|one|the|all)(?: [a-z]+)?\.?$/;
const OF_ANY_BAG =
  /^(?:What [a-z' ]+ (?:needs?|takes|with|uses|given|made from)|The settings|The choice|Everything)\.?$/;
const FACTORY = /^(?:export )?(?:async )?function (?:create|make|register|define|declare|watch|build)/;
const BAG = /^(?:export )?(?:interface|type) \w*(?:Deps|Config|Options|Settings|Input)\b/;

const COMMENT = /^([ \t]*)\/\*\*((?:(?!\*\/)[^])*)\*\/[ \t]*\n([^\n]*)/gm;
const DECLARATION =
  /^\s*(?:export |default |declare |abstract |async |static |readonly |get |set |override )*(?:(?:function\*?|class|interface|type|const|let|enum) +)?[#\w$'-]+[?!]?\s*(?:[:(<={;]|extends\b|implements\b|$)/;

/** The doc comments of a source without information, except the comment at the head of the file. */
export function emptyComments(source: string): EmptyComment[] {
  return [...source.matchAll(COMMENT)]
    .filter(({ index }) => index > 0)
    .flatMap(({ index, 0: whole, 2: comment = '', 3: declaration = '' }) => {
      const text = comment
        .replaceAll(/^\s*\*/gm, '')
        .replaceAll(/\s+/g, ' ')
        .trim();
      if (!DECLARATION.test(declaration) || !isEmpty(text, declaration)) return [];
      const firstLine = source.slice(0, index).split('\n').length;
      return [{ firstLine, lastLine: firstLine + whole.split('\n').length - 2, text }];
    });
}

/** The doc comments of a source that leave out the thing they are about. */
export function unnamedComments(source: string): EmptyComment[] {
  return [
    ...source.matchAll(/\/\*\*\s+(?:\*\s+)?((?:Of|So (?:many|much|long)|Told|Asked) [^\n]*?)(?:\s*\*\/)?$/gm),
  ].map(({ index, 1: text = '' }) => {
    const firstLine = source.slice(0, index).split('\n').length;
    return { firstLine, lastLine: firstLine, text };
  });
}

/** The comments of a source with a turn of phrase that has a plain word. */
export function riddles(source: string): EmptyComment[] {
  return [...source.matchAll(/\/\*\*(?:(?!\*\/)[^])*\*\/|^[ \t]*\/\/ [^\n]*/gm)].flatMap(({ index, 0: comment }) => {
    const text = comment
      .replaceAll(/^\s*(?:\/\*\*|\/\/|\*)|\*\/$/gm, '')
      .replaceAll(/\s+/g, ' ')
      .trim();
    return RIDDLES.flatMap(([phrase, plain]) => {
      const found = phrase.exec(text)?.[0];
      const firstLine = source.slice(0, index).split('\n').length;
      return found === undefined ? [] : [{ firstLine, lastLine: firstLine, text: `"${found}" (${plain})` }];
    });
  });
}

function isEmpty(text: string, declaration: string): boolean {
  if (FACTORY.test(declaration) && OF_ANY_FACTORY.test(text)) return true;
  if (BAG.test(declaration) && OF_ANY_BAG.test(text) && text.split(' ').length <= 5) return true;
  // Other characters are information: a second clause, a unit, an example, a tag.
  if (!/^[A-Za-z' -]+\.?$/.test(text)) return false;
  const said = new Set(wordsOf(declaration).flatMap((word) => [word, ...(SYNONYMS.get(word) ?? [])]));
  return wordsOf(text).every((word) => FILLERS.has(word) || [...said].some((other) => isSameWord(word, other)));
}

function wordsOf(text: string): string[] {
  return text
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((word) => word !== '');
}

/** Whether the words differ by an ending at most: `pod` and `pods`, `create` and `creating`. */
function isSameWord(a: string, b: string): boolean {
  const [short, long] = a.length <= b.length ? [a, b] : [b, a];
  if (short === long) return true;
  return ['s', 'es', 'd', 'ed'].some((ending) => long === short + ending) || long === `${short.replace(/e$/, '')}ing`;
}

interface CommentCheck {
  readonly files: number;
  readonly violations: readonly string[];
  /** Comments that leave out the thing they are about. */
  readonly unnamed: readonly string[];
  /** Comments with a turn of phrase that has a plain word. */
  readonly riddles: readonly string[];
}

/** The comments of the repository's TypeScript to delete or rewrite, as `path:line text`; generated files are exempt. */
export function emptyCommentsBelow(root: string): CommentCheck {
  const files = globSync(['src/**/*.ts', 'tools/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts'], { cwd: root })
    .filter((path) => !/\/gen\//.test(path))
    .sort();
  const placesOf = (paths: readonly string[], find: typeof emptyComments): string[] =>
    paths.flatMap((path) =>
      find(readFileSync(join(root, path), 'utf8')).map(({ firstLine, text }) => `${path}:${firstLine} ${text}`),
    );
  return {
    files: files.length,
    violations: placesOf(files, emptyComments),
    unnamed: placesOf(
      files.filter((path) => path.startsWith('src/')),
      unnamedComments,
    ),
    riddles: placesOf(
      files.filter((path) => path.startsWith('src/') && !path.endsWith('.test.ts')),
      riddles,
    ),
  };
}

if (isMain(import.meta.url)) {
  const {
    files,
    violations,
    unnamed,
    riddles: phrases,
  } = emptyCommentsBelow(resolve(process.argv[2] ?? repositoryRoot));
  for (const violation of violations) console.error(`${violation}: this comment repeats its declaration; delete it`);
  for (const place of unnamed) console.error(`${place}: this comment leaves out the thing it is about; name it`);
  for (const place of phrases) console.error(`${place}: say it in plain words`);
  if (files === 0) console.error('no source files to check');
  process.exitCode = violations.length + unnamed.length + phrases.length > 0 || files === 0 ? 1 : 0;
}
