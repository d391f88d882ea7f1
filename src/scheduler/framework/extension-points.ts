/** The extension points by upstream's configuration names, and the plugin method behind each. */
import type { SchedulerPlugin } from './plugin.ts';

/** All points in the order a pod passes them. */
export const EXTENSION_POINTS = [
  'preEnqueue',
  'queueSort',
  'preFilter',
  'filter',
  'postFilter',
  'preScore',
  'score',
  'reserve',
  'permit',
  'preBind',
  'bind',
  'postBind',
] as const;

/** An extension point by its name in configurations. */
export type ExtensionPoint = (typeof EXTENSION_POINTS)[number];

/** The method that a plugin needs to serve the point. Unreserve belongs to Reserve. */
export function methodOf(point: ExtensionPoint): keyof SchedulerPlugin {
  return point === 'queueSort' ? 'less' : point;
}
