/**
 * `why` answered by the API server: `/keelson/v1/why/` before the path of an object or a list, and `/keelson/v1/trouble`. The
 * explaining code is loaded at the first request. See docs/why.md.
 */
import { badRequest } from '../../api/status-error.ts';
import type { ApiResponse } from '../../api/transport.ts';
import type { NonResourceRoute } from '../../apiserver/non-resource-routes.ts';
import type { ObjectView } from '../../apiserver/object-views.ts';
import type { RequestScope } from '../../apiserver/request-scope.ts';
import type { Options } from './answers.ts';
import type { CallerAnswers } from './caller-answers.ts';

type WhyModule = typeof import('./answers.ts');

const MAX_SHOWN = 100;

export function whyRoutes(answers: CallerAnswers): { readonly view: ObjectView; readonly trouble: NonResourceRoute } {
  const load = (): Promise<WhyModule> => import('./answers.ts');
  const answer = (
    scope: RequestScope,
    make: (why: WhyModule, options: Options) => Promise<object>,
  ): Promise<ApiResponse> => answers.answer(scope, load, make);
  return {
    view: {
      name: 'why',
      serve: (scope, { info }) => answer(scope, (why, options) => why.whyOf(info, scope.info, options)),
      serveList: (scope, { info }) => answer(scope, (why, options) => why.whyOfList(info, scope.info, options)),
    },
    trouble: {
      path: '/keelson/v1/trouble',
      methods: ['GET'],
      serve(scope) {
        const namespace = scope.params.get('namespace') || undefined;
        const shown = shownOf(scope);
        return answer(scope, (why, options) => why.findTroubles({ ...options, namespace }, shown));
      },
    },
  };
}

/** Throws 400. */
function shownOf({ params }: RequestScope): number | undefined {
  const text = params.get('limit');
  if (text === null) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw badRequest(`limit: ${JSON.stringify(text)} is no whole number above 0`);
  return Math.min(Number(text), MAX_SHOWN);
}
