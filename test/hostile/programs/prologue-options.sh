--version 2>/dev/null
-c 'echo HIJACKED' 2>/dev/null
echo clean
