/** A diagram of boxes in columns with connections between them. */
import type { Tone } from '../tone.ts';

export interface FlowBox {
  readonly id: string;
  readonly title: string;
  /** The text of a second line. */
  readonly detail: string;
  readonly tone: Tone;
  /** The target of the box as a link; absent for none. */
  readonly href?: string | undefined;
  /** Set for the object that the diagram is about. */
  readonly current?: boolean;
}

export interface FlowColumn {
  readonly title: string;
  readonly boxes: readonly FlowBox[];
}

/** A connection from a box to one in a later column. Tones other than `good` and `plain` are drawn dashed. */
export interface FlowEdge {
  readonly from: string;
  readonly to: string;
  readonly tone: Tone;
}

export interface Flow {
  readonly columns: readonly FlowColumn[];
  readonly edges: readonly FlowEdge[];
}
