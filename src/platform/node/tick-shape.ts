import { executionAsyncResource } from 'node:async_hooks';

let kept: object | undefined;

/**
 * Keeps `process.nextTick` quick, which every request calls six times. V8 describes objects by hidden classes, and frees a
 * class when a full collection finds no object of it, as in any quiet second. The code that makes such objects takes the
 * class it finds next for one of many, for good, and needs five times as long: that is a tenth of a GET. A tick that is held
 * keeps the class.
 */
export function keepTickShape(): void {
  if (kept !== undefined) return;
  process.nextTick(() => {
    kept = executionAsyncResource();
  });
}
