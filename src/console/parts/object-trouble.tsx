/** The reason why a page has no current object: it was deleted, may not be read, or the server does not respond. */
import { momentMs } from '../app/moment.ts';
import { texts } from '../app/texts.ts';
import type { ObjectState } from './use-object.ts';

export function ObjectTrouble({ state: { gone, error } }: { readonly state: ObjectState }) {
  const { object, time } = texts;
  const isPast = momentMs.value !== undefined;
  return (
    <>
      {gone ? <p role="alert">{isPast ? time.wasNotThere : object.gone}</p> : null}
      {error === undefined ? null : error.code === 0 ? (
        <p class="liveness retrying" role="status" title={error.message}>
          {object.lost}
        </p>
      ) : (
        <p role="alert">{`${object.refused} ${error.message}`}</p>
      )}
    </>
  );
}
