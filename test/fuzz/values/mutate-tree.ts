// Small changes of a document, because code behind a refusal would otherwise not be reached.
import { chance, pick, type Random, weighted } from '../draw.ts';
import { brokenJson, hostileNumbers, hostileStrings, prototypeNames, wrongTypes } from './hostile.ts';
import { Members, type Place, placesOf, Raw, setAt, type Tree, treeOf, valueAt } from './tree.ts';

type Change = (random: Random, places: readonly Place[]) => void;

const containers = (places: readonly Place[]): Members[] => [
  ...new Set(places.map(({ container }) => container).filter((one) => one instanceof Members)),
];

const replace =
  (by: (random: Random) => Tree): Change =>
  (random, places) =>
    setAt(pick(random, places), by(random));

function hostileKey(random: Random): string {
  return chance(random, 0.5) ? pick(random, prototypeNames) : pick(random, hostileStrings);
}

const addKey: Change = (random, places) => {
  const into = pick(random, containers(places));
  into.entries.splice(random.int(into.entries.length + 1), 0, [hostileKey(random), treeOf(pick(random, wrongTypes))]);
};

const renameKey: Change = (random, places) => {
  const into = pick(random, containers(places));
  if (into.entries.length > 0) pick(random, into.entries)[0] = hostileKey(random);
};

const repeatKey: Change = (random, places) => {
  const { entries } = pick(random, containers(places));
  if (entries.length === 0) return;
  const [key, value] = pick(random, entries);
  entries.push([key, chance(random, 0.5) ? value : treeOf(pick(random, wrongTypes))]);
};

const reorder: Change = (random, places) => void pick(random, containers(places)).entries.reverse();

const remove: Change = (random, places) => {
  const { container, at } = pick(random, places);
  if (container instanceof Members) container.entries.splice(at, 1);
  else container.splice(at, 1);
};

const swap: Change = (random, places) => {
  const [one, other] = [pick(random, places), pick(random, places)];
  // A copy, because a shared subtree, or a cycle, would make later changes endless.
  setAt(one, new Raw(JSON.stringify(plainOf(valueAt(other), 8))));
};

function plainOf(tree: Tree, depth: number): unknown {
  if (depth === 0 || tree instanceof Raw) return null;
  if (Array.isArray(tree)) return tree.map((item) => plainOf(item, depth - 1));
  if (!(tree instanceof Members)) return tree;
  return Object.fromEntries(tree.entries.map(([key, value]) => [key, plainOf(value, depth - 1)]));
}

const nest: Change = (random, places) => {
  const depth = weighted(random, [
    [6, 3],
    [3, 60],
    [2, 1100],
    [1, 12_000],
  ]);
  const [open, close] = pick(random, [
    ['[', ']'],
    ['{"a":', '}'],
    ['{"properties":{"a":', '}}'],
    ['[{"a":', '}]'],
  ] as const);
  setAt(pick(random, places), new Raw(`${open.repeat(depth)}${open === '[' ? '' : '1'}${close.repeat(depth)}`));
};

const many: Change = (random, places) => {
  const place = pick(random, places);
  const value = new Raw(JSON.stringify(plainOf(valueAt(place), 4)));
  const drawn = weighted(random, [
    [6, 10],
    [3, 200],
    [1, 3000],
  ]);
  // A larger document is refused for its size, and Node.js limits strings to half a gigabyte.
  const count = Math.min(drawn, Math.ceil(8_000_000 / value.text.length));
  const isKeyed = chance(random, 0.4);
  setAt(
    place,
    isKeyed
      ? new Members(Array.from({ length: count }, (_, at) => [`k${at}`, value]))
      : Array.from({ length: count }, () => value),
  );
};

const huge: Change = (random, places) => {
  const length = weighted(random, [
    [6, 300],
    [3, 70_000],
    [1, 1_200_000],
  ]);
  const unit = pick(random, ['a', 'é', '\0', '"', '\\', '! ', 'a.', '(', '😀', '\n']);
  setAt(pick(random, places), unit.repeat(Math.ceil(length / unit.length)));
};

const changes: readonly (readonly [weight: number, change: Change])[] = [
  [6, replace((random) => treeOf(pick(random, wrongTypes)))],
  [6, replace((random) => pick(random, hostileStrings))],
  [5, replace((random) => new Raw(pick(random, hostileNumbers)))],
  [1, replace((random) => new Raw(pick(random, brokenJson)))],
  [5, addKey],
  [3, renameKey],
  [3, repeatKey],
  [1, reorder],
  [4, remove],
  [2, swap],
  [1, nest],
  [1, many],
  [1, huge],
];

/** Changes the document in place, `times` times. */
export function mutateTree(random: Random, tree: Tree, times: number): void {
  for (let count = 0; count < times; count++) {
    const places = placesOf(tree);
    if (places.length > 0 && containers(places).length > 0) weighted(random, changes)(random, places);
  }
}
