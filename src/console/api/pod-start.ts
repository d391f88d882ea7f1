/** Reads the timeline of a pod's start. */
import { sendJson } from './http.ts';
import { type ObjectRef, objectPath } from './kinds.ts';

export interface StartStep {
  readonly component: string;
  /** The number of enclosing steps. */
  readonly depth: number;
  readonly name: string;
  readonly offsetMs: number;
  /** Absent while the step runs. */
  readonly durationMs?: number;
  readonly detail?: string;
  readonly error?: string;
}

export interface PodStart {
  readonly created: string;
  /** Absent until the pod is ready or has ended. */
  readonly ready?: string;
  readonly durationMs?: number;
  /** The fraction of the time that steps account for, 0 to 1. */
  readonly accountedFor?: number;
  readonly steps: readonly StartStep[];
  /** The components whose steps could not be read, with the reasons. */
  readonly missing: readonly string[];
}

export function readPodStart(ref: ObjectRef, signal: AbortSignal): Promise<PodStart> {
  return sendJson(`/keelson/v1/trace${objectPath(ref)}`, { signal });
}
