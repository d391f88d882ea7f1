/** The use of the pods that are shown, and how full each tile is of it. */
import { useMemo } from 'preact/hooks';
import { bytesText, coresText } from '../../parts/amounts.ts';
import { usePolled } from '../../parts/use-polled.ts';
import { type Measure, type PodUse, readPodUse } from './pod-use.ts';
import type { Tile } from './pod-tiles.ts';
import { LEVELS } from './sprites.ts';

export interface Fill {
  levelOf(tile: Tile): number;
  /** '' where it is not known. */
  useOf(tile: Tile): string;
  /** What a tile that is full uses; '' where fills mean nothing. */
  readonly full: string;
}

interface Asked {
  /** Undefined: tiles are full. */
  readonly measure: Measure | undefined;
  readonly namespace: string;
  readonly labelSelector: string;
}

const PERIOD_MS = 15_000;
const PLAIN: Fill = { levelOf: () => LEVELS, useOf: () => '', full: '' };
const NONE: ReadonlyMap<string, PodUse> = new Map();

export function usePodUse({ measure, namespace, labelSelector }: Asked): Fill {
  const { answer = NONE } = usePolled({
    key: `${measure === undefined} ${namespace} ${labelSelector}`,
    periodMs: PERIOD_MS,
    ask: (signal) => (measure === undefined ? Promise.resolve(NONE) : readPodUse({ namespace, labelSelector }, signal)),
    final: () => measure === undefined,
  });
  return useMemo(() => (measure === undefined ? PLAIN : fillOf(answer, measure)), [answer, measure]);
}

function fillOf(uses: ReadonlyMap<string, PodUse>, measure: Measure): Fill {
  let most = 0;
  for (const use of uses.values()) most = Math.max(most, use[measure]);
  const useOf = ({ row }: Tile): PodUse | undefined => uses.get(`${row.namespace}/${row.name}`);
  return {
    levelOf: (tile) => {
      const use = useOf(tile);
      return use === undefined || most === 0 ? 0 : Math.ceil((LEVELS * use[measure]) / most);
    },
    useOf: (tile) => {
      const use = useOf(tile);
      return use === undefined ? '' : `${coresText(use.cpu)}, ${bytesText(use.memory)}`;
    },
    full: measure === 'cpu' ? coresText(most) : bytesText(most),
  };
}
