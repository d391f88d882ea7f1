/** Indexes node selector terms so that a term that requires a label is tried only on nodes with that label. */
import type { NodeSelectorTerm } from '../api/gen/core-v1.ts';

/** Up to this number of terms, all are tried. */
const FEW = 16;

interface TermIndex {
  /** Terms by a label that they require. */
  readonly byLabel: ReadonlyMap<string, readonly NodeSelectorTerm[]>;
  /** Terms that may match a node without labels. */
  readonly others: readonly NodeSelectorTerm[];
}

const WANTS_LABEL = new Set(['In', 'Exists', 'Gt', 'Lt']);
const indexes = new WeakMap<readonly NodeSelectorTerm[], TermIndex>();

/** The terms that may match a node with these labels, in no particular order. */
export function termsToTry(
  terms: readonly NodeSelectorTerm[],
  labels: Readonly<Record<string, string>> = {},
): readonly NodeSelectorTerm[] {
  if (terms.length <= FEW) return terms;
  let index = indexes.get(terms);
  if (index === undefined) indexes.set(terms, (index = indexOf(terms)));
  const { byLabel, others } = index;
  if (byLabel.size === 0) return others;
  return [...Object.keys(labels).flatMap((key) => byLabel.get(key) ?? []), ...others];
}

function indexOf(terms: readonly NodeSelectorTerm[]): TermIndex {
  const byLabel = new Map<string, NodeSelectorTerm[]>();
  const others: NodeSelectorTerm[] = [];
  for (const term of terms) {
    const key = term.matchExpressions?.find(({ operator }) => WANTS_LABEL.has(operator))?.key;
    if (key === undefined) others.push(term);
    else if (byLabel.has(key)) byLabel.get(key)!.push(term);
    else byLabel.set(key, [term]);
  }
  return { byLabel, others };
}
