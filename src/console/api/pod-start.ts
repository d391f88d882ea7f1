/** The timeline of a pod's start: Keelson's own answer beside the pod's path. */
import { sendJson } from './http.ts';
import { type ObjectRef, objectPath } from './kinds.ts';

export interface StartStep {
  readonly component: string;
  /** How many steps it is within. */
  readonly depth: number;
  readonly name: string;
  readonly offsetMs: number;
  /** Absent: it has not ended. */
  readonly durationMs?: number;
  readonly detail?: string;
  readonly error?: string;
}

export interface PodStart {
  readonly created: string;
  /** Absent: not ready yet, nor at its end. */
  readonly ready?: string;
  readonly durationMs?: number;
  /** The part of the time that steps account for, 0 to 1. */
  readonly accountedFor?: number;
  readonly steps: readonly StartStep[];
  /** What could not be had, and why. */
  readonly missing: readonly string[];
}

export function readPodStart(ref: ObjectRef, signal: AbortSignal): Promise<PodStart> {
  return sendJson(`/keelson/v1/trace${objectPath(ref)}`, { signal });
}
