package code

import (
	"go/ast"
	"go/types"
)

// IsFlight reports whether a call is of a method of a singleflight group:
// x/sync's, or another package of that name.
func IsFlight(f *Func, call *ast.CallExpr, methods ...string) bool {
	fn := f.Callee(call)
	if fn == nil || fn.Signature().Recv() == nil {
		return false
	}
	return f.Is(call, "singleflight", methods...) || f.Is(call, "golang.org/x/sync/singleflight", methods...)
}

// IsLockcluster reports whether a call hands a loader to rcctl's lockcluster.
func IsLockcluster(f *Func, call *ast.CallExpr) bool {
	return f.Is(call, "github.com/rcctl/rcctl/lockcluster")
}

// IsMutex reports whether a call is of a method of sync.Mutex or RWMutex.
func IsMutex(f *Func, call *ast.CallExpr, methods ...string) bool {
	fn := f.Callee(call)
	if fn == nil || fn.Signature().Recv() == nil || !f.Is(call, "sync", methods...) {
		return false
	}
	return IsNamed(fn.Signature().Recv().Type(), "sync", "Mutex", "RWMutex") || types.IsInterface(fn.Signature().Recv().Type())
}

// Receiver is the expression before the dot of a method call, nil for others.
func Receiver(call *ast.CallExpr) ast.Expr {
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		return sel.X
	}
	return nil
}
