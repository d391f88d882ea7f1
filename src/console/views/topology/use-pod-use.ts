/** The resource use of the visible pods, and the fill of each tile. */
import { useMemo } from 'preact/hooks';
import { bytesText, coresText } from '../../parts/amounts.ts';
import { usePolled } from '../../parts/use-polled.ts';
import { type Measure, type PodUse, readPodUse } from './pod-use.ts';
import type { Tile } from './pod-tiles.ts';
import { LEVELS } from './sprites.ts';

export interface Fill {
  levelOf(tile: Tile): number;
  /** '' when the use is unknown. */
  useOf(tile: Tile): string;
  /** The use that a full tile stands for; '' when the fill has no meaning. */
  readonly full: string;
}

interface Asked {
  /** Undefined when tiles are always full. */
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
