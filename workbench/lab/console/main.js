// The served page: its address says what is shown, and its keyboard is the console's.

import { mount } from "./app.js";
import { served } from "./transport.js";

const address = {
  read: () => location.hash.replace(/^#\//, "") || "payments",
  write: (route) => history.pushState(null, "", `#/${route}`),
  listen: (heard) => addEventListener("popstate", () => heard(address.read())),
};

mount(document.getElementById("console"), served(), { address, base: location.origin, keys: document });
