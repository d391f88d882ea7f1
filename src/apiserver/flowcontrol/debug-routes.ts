/**
 * The present state of priority and fairness as text: levels, their queues, the requests in them. Upstream:
 * util/flowcontrol/apf_controller_debug.go. Differs: requests being served are counted, not listed.
 */
import { formatTime } from '../../api/time.ts';
import type { ApiResponse } from '../../api/transport.ts';
import { largest } from '../../base/lists.ts';
import type { Clock } from '../../platform/clock.ts';
import type { NonResourceRoute } from '../non-resource-routes.ts';
import { isTrue } from '../request-info.ts';
import { textResponse } from '../responses.ts';
import type { FlowController } from './flow-controller.ts';
import type { Waiting } from './flow.ts';

const ROOT = '/debug/api_priority_and_fairness';

type Row = readonly (string | number | boolean)[];

export function flowDebugRoutes(controller: FlowController, clock: Clock): NonResourceRoute[] {
  return [
    { path: `${ROOT}/dump_priority_levels`, serve: () => table(levelRows(controller)) },
    { path: `${ROOT}/dump_queues`, serve: () => table(queueRows(controller)) },
    {
      path: `${ROOT}/dump_requests`,
      serve: ({ params }) => table(requestRows(controller, clock, isTrue(params.get('includeRequestDetails')))),
    },
  ];
}

function levelRows({ levels }: FlowController): Row[] {
  const head =
    'PriorityLevelName,ActiveQueues,IsIdle,IsQuiescing,WaitingRequests,ExecutingRequests,DispatchedRequests,RejectedRequests,TimedoutRequests,CancelledRequests';
  const rows = levels.map(({ name, queues, idle, quiescing, executing, counts }): Row => {
    const active = queues.states().filter(({ waiting, executing: running }) => waiting.length + running > 0).length;
    const { dispatched, rejected, timedOut, cancelled } = counts;
    return [name, active, idle, quiescing, queues.size, executing, dispatched, rejected, timedOut, cancelled];
  });
  return [head.split(','), ...rows];
}

function queueRows({ levels }: FlowController): Row[] {
  const head =
    'PriorityLevelName,Index,PendingRequests,ExecutingRequests,SeatsInUse,NextDispatchR,InitialSeatsSum,MaxSeatsSum,TotalWorkSum';
  const rows = levels.flatMap(({ name, queues }) =>
    queues.states().map((state): Row => {
      const { index, waiting, executing, executingSeats, dueSeconds, waitingSeats } = state;
      const work = `${(waitingSeats * 0.003).toFixed(8)}ss`;
      const due = `${dueSeconds.toFixed(8)}ss`;
      return [name, index, waiting.length, executing, executingSeats, due, waitingSeats, waitingSeats, work];
    }),
  );
  return [head.split(','), ...rows];
}

function requestRows({ levels }: FlowController, clock: Clock, details: boolean): Row[] {
  const head =
    'PriorityLevelName,FlowSchemaName,QueueIndex,RequestIndexInQueue,FlowDistingsher,ArriveTime,InitialSeats,FinalSeats,AdditionalLatency,StartTime';
  const more = 'UserName,Verb,APIPath,Namespace,Name,APIVersion,Resource,SubResource';
  const rows = levels.flatMap(({ name, queues }) =>
    queues.states().flatMap(({ index, waiting }) =>
      waiting.map((one, place): Row => {
        const { flow, distinguisher, arrivedMs, width } = one;
        const arrived = formatTime(clock.nowMs() - (clock.monotonicMs() - arrivedMs));
        const row = [name, flow.name, index, place, distinguisher, arrived, width, 0, '0s', '0001-01-01T00:00:00Z'];
        return details ? [...row, ...detailsOf(one)] : row;
      }),
    ),
  );
  return [[...head.split(','), ...(details ? more.split(',') : [])], ...rows];
}

function detailsOf({ scope: { user, info } }: Waiting): Row {
  const { verb, path, namespace, name, apiGroup, apiVersion, resource, subresource } = info;
  const version = apiGroup === '' ? apiVersion : `${apiGroup}/${apiVersion}`;
  return [user.name, verb, path, namespace, name, version, resource, subresource];
}

/** Columns of equal width, commas between. */
function table(rows: readonly Row[]): ApiResponse {
  const widths = rows[0]!.map((_, column) => largest(rows.map((row) => String(row[column]).length)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) =>
        column === row.length - 1 ? String(cell) : `${String(cell)},`.padEnd(widths[column]! + 1),
      )
      .join(' '),
  );
  return textResponse(200, `${lines.join('\n')}\n`);
}
