// The entry of the console's pages: one bundle, made on the first request for it.

import { render } from "preact";
import { App } from "./app.tsx";
import { followTheme } from "./ui/theme.tsx";

followTheme();
const page = document.getElementById("page");
if (page) render(<App />, page);
