# Runs on the machine of the image as SYSTEM, maybe twice. Exit code 3010 restarts it and runs this again.
New-Item -ItemType Directory -Force C:\agent | Out-Null
Set-Content C:\agent\installed.txt "1.0.0"
Write-Output "agent 1.0.0 is installed"
