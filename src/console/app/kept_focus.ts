// The keyboard's place: where the focused element is moved or removed, as a filter by its own button, it or what is
// there now gets the focus, so that nobody begins at the top of the page again.

import { useEffect } from "preact/hooks";

const listFocusable = (parent: Element) => [
  ...parent.querySelectorAll<HTMLElement>(
    "a[href], button, input, select, textarea, summary, [tabindex='0']",
  ),
];

/** Longer than effects of pages wait, which may focus something else. */
const waitMs = 150;

/** An element, its parents within the page from the inside out, and its number among what each can focus. */
function describePlace(element: HTMLElement, page: Element) {
  const places: (readonly [parent: Element, number: number])[] = [];
  for (let parent = element.parentElement; parent && page.contains(parent); parent = parent.parentElement)
    places.push([parent, Math.max(0, listFocusable(parent).indexOf(element))]);
  return { element, places, address: readPage() };
}

const readPage = () => location.hash.split("?", 1)[0];

/** @param id of the element that pages are in. */
export function useKeptFocus(id: string): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last: ReturnType<typeof describePlace> | undefined;
    const remember = ({ target }: FocusEvent) => {
      const [element, page] = [target as HTMLElement, document.getElementById(id)];
      last = page?.contains(element) && element !== page ? describePlace(element, page) : undefined;
    };
    // A press elsewhere gives the place up.
    const forget = () => void (last = undefined);
    const restore = () => {
      if (!last || document.activeElement !== document.body) return;
      const found = last.places.find(([parent]) => parent.isConnected && listFocusable(parent).length > 0);
      if (last.address !== readPage()) document.querySelector<HTMLElement>(`#${id} h1`)?.focus();
      else if (found)
        listFocusable(found[0])
          .slice(0, found[1] + 1)
          .at(-1)!
          .focus();
    };
    const observer = new MutationObserver(() => {
      if (!last || document.activeElement !== document.body) return;
      clearTimeout(timer);
      if (last.element.isConnected) last.element.focus();
      else timer = setTimeout(restore, waitMs);
    });
    document.addEventListener("pointerdown", forget, true);
    document.addEventListener("focusin", remember);
    observer.observe(document.body, { childList: true, subtree: true });
    return () => {
      document.removeEventListener("pointerdown", forget, true);
      document.removeEventListener("focusin", remember);
      observer.disconnect();
      clearTimeout(timer);
    };
  }, [id]);
}
