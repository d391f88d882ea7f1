/** The view `activity` of pods: what the kubelet does for the pod, streamed while it happens. */
import { POD_ACTIVITY_ROUTE } from '../api/pod-activity.ts';
import type { ObjectView } from './object-views.ts';
import { podNodeView } from './pod-state-view.ts';
import type { KubeletJsonDeps } from './streaming/kubelet-json.ts';

export function podActivityView(deps: KubeletJsonDeps): ObjectView {
  return podNodeView(deps, { name: 'activity', route: POD_ACTIVITY_ROUTE });
}
