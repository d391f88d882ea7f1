import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from './http.ts';
import { linesOf } from './lines.ts';

function answer(
  chunks: readonly string[],
  end: (controller: ReadableStreamDefaultController<Uint8Array>) => void,
): Response {
  return new Response(
    new ReadableStream<Uint8Array>({
      pull(controller) {
        for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
        end(controller);
      },
    }),
  );
}

test('lines are whole wherever the response is cut, and the last one may lack its line end', async () => {
  const lines: string[] = [];
  for await (const some of linesOf(answer(['a\nb', 'c\n', 'd'], (controller) => controller.close())))
    lines.push(...some);
  assert.deepEqual(lines, ['a', 'bc', 'd']);
});

test('a response that breaks off is a failure of the server, so that lists and objects are read again', async () => {
  const broken = linesOf(answer([], (controller) => controller.error(new TypeError('network error'))));
  await assert.rejects(broken.next(), (error) => error instanceof ApiError && error.code === 0);
});
