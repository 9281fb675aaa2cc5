// This package holds tests only.

package crash
