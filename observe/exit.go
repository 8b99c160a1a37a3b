package observe

import "time"

// exitUnknown is an end of which nothing but the end is known.
func exitUnknown(id Ident) Exit {
	return Exit{Ident: id, Code: -1, At: time.Now(), Message: "its parent has taken the exit status, and the kernel did not keep it"}
}
