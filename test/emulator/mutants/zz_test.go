package mutants
import ("testing";"bytes";"context";"time";"strings";"fmt";"os";"flag";"runtime/metrics";"runtime/debug"
"casement.dev/casement/internal/contain"
"casement.dev/casement/internal/sim/guest/shell")
var zf=flag.String("zf","","")
var zk=flag.String("zk","sh","")
var zt=flag.Duration("zt",time.Second,"")
func TestZ(t *testing.T){
 d,_:=os.ReadFile(*zf)
 for _,k:=range kinds(){ if k.name!=*zk {continue}
  for _,x:=range strings.Split(string(d),"%%%%\n"){
   mc:=fresh(t,nil,k.os,func(p *contain.Panic){fmt.Println("PANIC",p.Where,p.Value)})
   var o,e bytes.Buffer
   ctx,c:=context.WithTimeout(context.Background(),*zt)
   s:=shell.Session{Stdin:strings.NewReader("a b c\n1,2,3\n"),Stdout:&o,Stderr:&e}
   sh:=shell.New(mc,nil,nil)
   debug.FreeOSMemory(); own:=heap(); stop,fin:=make(chan bool),make(chan bool); var peak uint64; go func(){ defer close(fin); for { select{case <-stop: return; case <-time.After(5*time.Millisecond): peak=max(peak,heap())}}}()
   var code int; b:=time.Now()
   run:=func(){ switch k.name{case "sh": code=sh.Bash(ctx,x,s);case "dash":code=sh.Sh(ctx,x,s);case "cmd":code=sh.Batch(ctx,x,s);case "powershell":code=sh.PowerShell(ctx,x,s)
    case "jq": s.Stdin=strings.NewReader(`{"a": [1, "x", {"b": null}], "c": {"d": 1.5}} [1, 2] "x" null`); code,_=sh.Exec(ctx,[]string{k.name,x},s)
    case "awk","sed": code,_=sh.Exec(ctx,[]string{k.name,x},s)
    default: k.run(ctx,mc,x)}}
   (&contain.Wall{Report:func(p *contain.Panic){fmt.Printf("PANIC %s %v\n%s\n",p.Where,p.Value,p.Trace)}}).Call("z",run)
   took:=time.Since(b); c(); close(stop); <-fin
   cut:=func(s string)string{ if len(s)>220{s=s[:220]}; return s}
   fmt.Printf("--- %q\n code %d took %v peak %dM\n out %q\n err %q\n",cut(x),code,took.Round(time.Millisecond),(peak-min(own,peak))>>20,cut(o.String()),cut(e.String()))
   mc.Close()
 }}}

func heap() uint64 { v:=[]metrics.Sample{{Name:"/memory/classes/heap/objects:bytes"}}; metrics.Read(v); return v[0].Value.Uint64() }
