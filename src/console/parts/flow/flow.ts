/** Boxes in columns and what leads from one to another. */
import type { Tone } from '../tone.ts';

export interface FlowBox {
  readonly id: string;
  readonly title: string;
  /** A second line. */
  readonly detail: string;
  readonly tone: Tone;
  /** Where it leads to; absent: nowhere. */
  readonly href?: string | undefined;
  /** The one that all others are about. */
  readonly current?: boolean;
}

export interface FlowColumn {
  readonly title: string;
  readonly boxes: readonly FlowBox[];
}

/** From a box to one of a later column. Other tones than `good` and `plain` are dashed. */
export interface FlowEdge {
  readonly from: string;
  readonly to: string;
  readonly tone: Tone;
}

export interface Flow {
  readonly columns: readonly FlowColumn[];
  readonly edges: readonly FlowEdge[];
}
