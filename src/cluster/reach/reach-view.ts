/**
 * Serves reachability by network policies: `/keelson/v1/reach/` before the path of a pod, with the other pod as
 * `?to=NAMESPACE/NAME`, or before the path of a list of pods. Policies, namespaces and the other pod are read with
 * the caller's permissions. See docs/console.md.
 */
import { badRequest, noSuchPath } from '../../api/status-error.ts';
import { Pods } from '../../api/gen/resources.ts';
import type { ObjectView } from '../../apiserver/object-views.ts';
import type { CallerAnswers } from '../why/caller-answers.ts';

export function reachView(work: CallerAnswers): ObjectView {
  const load = (): Promise<typeof import('./answers.ts')> => import('./answers.ts');
  return {
    name: 'reach',
    serve(scope, { info }) {
      if (info.resource !== Pods.resource || info.group !== Pods.group) throw noSuchPath();
      const to = /^([^/]+)\/([^/]+)$/.exec(scope.params.get('to') ?? '');
      if (to === null) throw badRequest('to: must be the other pod, as NAMESPACE/NAME');
      const { namespace, name } = scope.info;
      const pair = { from: { namespace, name }, to: { namespace: to[1]!, name: to[2]! } };
      return work.answer(scope, load, (reach, tools) => reach.reachOf(pair, tools));
    },
    serveList(scope, { info }) {
      if (info.resource !== Pods.resource || info.group !== Pods.group) throw noSuchPath();
      const { namespace, labelSelector, fieldSelector } = scope.info;
      return work.answer(scope, load, (reach, tools) =>
        reach.reachTableOf({ namespace, labelSelector, fieldSelector }, tools),
      );
    },
  };
}
