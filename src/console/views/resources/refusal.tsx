/** The server's reason why there is no list. */
import type { ApiError } from '../../api/http.ts';
import { namespace } from '../../app/router.ts';
import { texts } from '../../app/texts.ts';

export function Refusal({ error }: { readonly error: ApiError }) {
  const { list } = texts;
  const forbidden = error.code === 403;
  return (
    <div class="notice" role="alert">
      {forbidden ? <p>{namespace.value === '' ? list.forbiddenEverywhere : list.forbidden}</p> : null}
      <p class="mono dim">{error.message}</p>
    </div>
  );
}
